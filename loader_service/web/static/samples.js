// What the trainer sees: the samples of a recent batch, frames over time, made again from the files.
import { Plot } from "./chart.js";
import { el, get, rate, repeatedly, replace, url, whole, words } from "./dom.js";

const FRAMES = 6, SIDE = 128, PLAYED = 48, PLAYED_SIDE = 448;

export function showSamples(main) {
  const chooser = el("select", { "aria-label": "stream" });
  const fields = el("select", { "aria-label": "field" });
  const title = el("p", { class: "grow" });
  const note = el("p", { class: "small soft" });
  const outputs = el("div", { id: "outputs" });
  const grid = el("div", { class: "sheet", id: "sheet" });
  const follow = el("button", { "aria-pressed": "false", onclick: () => { following = !following; follow.setAttribute("aria-pressed", String(following)); } }, "Follow");
  const newest = el("button", { onclick: () => look(true) }, "Newest batch");
  let following = false, streams = [], shown = "", batch = null;
  replace(main, el("section", { class: "card" }, el("div", { class: "row" }, title, chooser, fields, newest, follow), note, outputs), grid);
  chooser.addEventListener("change", () => show(true));
  fields.addEventListener("change", draw);

  async function look(anew) {
    try {
      streams = (await get("/api/streams")).streams;
    } catch (error) {
      replace(grid, el("p", { class: "error" }, error.message));
      return;
    }
    const before = chooser.value;
    const numbers = streams.map((each) => String(each.stream));
    if ([...chooser.options].map((each) => each.value).join() !== numbers.join()) {
      replace(chooser, streams.map((each) => el("option", { value: each.stream }, `stream ${each.stream}`)));
      if (numbers.includes(before)) chooser.value = before;
    }
    chooser.hidden = streams.length < 2;
    await show(anew || following || !batch);
  }

  async function show(anew) {
    const found = streams.find((each) => String(each.stream) === chooser.value) ?? streams[0];
    if (!found) {
      replace(title, el("span", { class: "soft" }, "No stream has had a batch yet."));
      replace(grid);
      return;
    }
    if (!anew) return;
    const key = `${found.stream}/${found.epoch}/${found.step}`;
    if (key === shown) return;
    try {
      const samples = await get(`/api/steps/${key}/samples`);
      const made = found.transformed ? await madeOf(key) : null;
      batch = { ...samples, made, key, step: found, shows: shownFields(samples, made) };
    } catch (error) {
      replace(title, `Epoch ${found.epoch}, step ${whole(found.step)}`);
      replace(grid, el("p", { class: "error" }, error.message));
      replace(outputs);
      return;
    }
    shown = key;
    replace(title, el("b", {}, `Epoch ${found.epoch}, step ${whole(found.step)}`), ` · ${whole(found.rows)} samples`);
    replace(note, el("span", { class: "mono break" }, `${found.spec.clip}, ${found.spec.image}, seed ${found.spec.seed}`),
      found.shown < found.rows ? ` · the first ${found.shown} are shown` : null);
    const before = fields.value;
    replace(outputs, batch.made ? tellOutputs(batch) : null);
    replace(fields, batch.shows.map((each) => el("option", { value: each.value }, each.label)));
    if (batch.shows.some((each) => each.value === before)) fields.value = before;
    fields.hidden = fields.options.length < 2;
    draw();
  }

  function draw() {
    const field = batch.shows.find((each) => each.value === fields.value);
    replace(grid, batch.samples.map((each) => card(batch, each, field)));
  }

  const stop = repeatedly(() => look(false), 3000);
  return () => { stop(); document.querySelector("dialog")?.close(); };
}

// What the transform returns; where it cannot be had, why, and the page goes on without.
async function madeOf(key) {
  try { return await get(`/api/steps/${key}/outputs`); } catch (error) { return { made: 0, fields: [], error: error.message }; }
}

// What can be chosen: what the transform returns first, then what the files hold, which is what it is given.
function shownFields({ images, arrays }, made) {
  const returned = (made?.fields ?? []).filter((each) => each.frames.length).map((each) => ({ value: `out ${each.name}`, label: `${each.name}, returned`, name: each.name, isPicture: true, counts: each.frames, path: "outputs.jpg" }));
  const read = [...images, ...arrays].map((name) => ({ value: `in ${name}`, label: made ? `${name}, given to the transform` : name, name, isPicture: images.includes(name), path: "strip.jpg" }));
  return [...returned, ...read];
}

const framesOf = (field, sample) => (field.counts ? field.counts[sample.row] ?? 0 : sample.frames);

function tellOutputs({ made, samples, step }) {
  if (made.error) return [el("p", { class: "error" }, words(made.error)), el("p", { class: "small soft" }, "Below is what the transform is given.")];
  const number = (value) => el("td", { class: "number" }, value === null ? "–" : String(Number(value.toPrecision(5))));
  const rows = made.fields.map((each) => el("tr", {}, el("td", { class: "break" }, each.name), el("td", {}, each.dtype), el("td", { class: "nowrap" }, each.shape), number(each.low), number(each.mean), number(each.high), el("td", { class: "number" }, each.not_finite ? el("span", { class: "chip warn" }, whole(each.not_finite)) : ""), el("td", { class: "small soft" }, each.caption)));
  const few = made.made < samples.length ? `: the first ${made.made}, since it is slow or its samples are large` : "";
  return [el("p", { class: "small" }, `What the transform returns, which the trainer gets, of ${made.made} of ${whole(step.rows)} samples${few}`),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["field", "dtype", "shape", "min", "mean", "max", "not finite", ""].map((each) => el("th", { class: ["min", "mean", "max", "not finite"].includes(each) ? "number" : "" }, each)))), el("tbody", {}, rows)))];
}

function card(batch, sample, field) {
  const picture = field?.isPicture && framesOf(field, sample)
    ? el("img", { loading: "lazy", alt: `frames of ${sample.video}`, src: url(`/api/steps/${batch.key}/${field.path}`, { field: field.name, row: sample.row, frames: Math.min(FRAMES, framesOf(field, sample)), side: SIDE }), onerror: (event) => failed(event.target) })
    : null;
  return el("button", { class: "sample", onclick: () => open(batch, sample, field) }, picture,
    el("div", { class: "facts" }, el("span", { class: "name" }, sample.video), el("span", { class: "wrap" }, facts(sample)), el("span", { class: "small soft break" }, where(sample))));
}

async function failed(image) {
  let why = "This frame cannot be shown.";
  try { await get(image.getAttribute("src")); } catch (error) { why = error.message; }
  image.replaceWith(el("p", { class: "error facts" }, why));
}

function facts(sample) {
  const chips = [el("span", { class: "chip" }, `#${whole(sample.sample)}`)];
  for (const [name, value] of Object.entries(sample.values)) {
    if (name.endsWith("_length") || name.endsWith("_shape")) continue;
    const text = Array.isArray(value) ? `[${value.slice(0, 4).map((each) => (typeof each === "number" ? rate(each) : each)).join(", ")}${value.length > 4 ? ", …" : ""}]` : String(value);
    chips.push(el("span", { class: name === "label" ? "chip label" : "chip", title: name }, name === "label" ? text : `${name}: ${text}`));
  }
  if (sample.flip) chips.push(el("span", { class: "chip warn" }, "⇄ mirrored"));
  return chips;
}

function where(sample) {
  const last = sample.length > 1 ? `from frame ${whole(sample.start)}, ${whole(sample.length)} frames` : `frame ${whole(sample.start)}`;
  const short = sample.length < sample.frames ? ` (short: the last one repeats)` : "";
  return `${last}${short}${sample.crop ? ` · crop ${sample.crop}` : ""}`;
}

function open(batch, sample, field) {
  const box = el("dialog", {}, el("div", { class: "row" }, el("h2", { class: "grow break" }, sample.video), el("button", { onclick: () => box.close(), "aria-label": "close" }, "Close")),
    el("p", { class: "small soft break" }, sample.file), el("p", { class: "wrap" }, facts(sample)), el("p", { class: "small soft" }, where(sample)));
  document.body.append(box);
  box.addEventListener("close", () => { stop(); box.remove(); });
  box.showModal();
  let stop = () => {};
  if (field?.isPicture && framesOf(field, sample)) stop = play(box, batch, sample, field);
  for (const name of batch.arrays) drawNumbers(box, batch, sample, name);
}

// All frames come as one picture, and a canvas shows them in turn.
function play(box, batch, sample, field) {
  const count = Math.min(PLAYED, framesOf(field, sample));
  const screen = el("canvas", { class: "screen", role: "img", "aria-label": "the clip" });
  const slider = el("input", { type: "range", min: 0, max: count - 1, value: 0, "aria-label": "frame" });
  const button = el("button", { onclick: () => { playing = !playing; button.textContent = playing ? "Pause" : "Play"; } }, "Pause");
  const image = new Image();
  let playing = count > 1, place = 0, timer = 0;
  box.append(screen, el("div", { class: "row" }, count > 1 ? button : null, el("div", { class: "grow" }, count > 1 ? slider : null)));
  const paint = () => {
    const width = (image.naturalWidth + 2) / count - 2;
    screen.width = width;
    screen.style.height = `${Math.max(240, image.naturalHeight)}px`;
    screen.height = image.naturalHeight;
    screen.getContext("2d").drawImage(image, place * (width + 2), 0, width, image.naturalHeight, 0, 0, width, image.naturalHeight);
    slider.value = place;
  };
  slider.addEventListener("input", () => { playing = false; button.textContent = "Play"; place = Number(slider.value); paint(); });
  image.addEventListener("load", () => { paint(); timer = setInterval(() => { if (playing) { place = (place + 1) % count; paint(); } }, 100); });
  image.addEventListener("error", async () => {
    try { await get(image.src); } catch (error) { screen.replaceWith(el("p", { class: "error" }, error.message)); }
  });
  image.src = url(`/api/steps/${batch.key}/${field.path}`, { field: field.name, row: sample.row, frames: count, side: count > 24 ? PLAYED_SIDE / 2 : PLAYED_SIDE });
  return () => clearInterval(timer);
}

async function drawNumbers(box, batch, sample, name) {
  try {
    const { at, numbers } = await get(`/api/steps/${batch.key}/numbers`, { field: name, row: sample.row });
    if (at.length < 2) {
      box.append(el("p", { class: "small break" }, el("b", {}, `${name}: `), numbers[0].slice(0, 16).map(rate).join(", ")));
      return;
    }
    const lines = numbers[0].map((_, place) => numbers.map((each) => each[place]));
    box.append(new Plot(name, { at, lines }, rate).element);
  } catch (error) {
    box.append(el("p", { class: "error" }, words(`${name}: ${error.message}`)));
  }
}
