// Data: files → videos → frames, numbers along time, classes, lengths, and what is bad.
import { onNow } from "./app.js";
import { Plot } from "./chart.js";
import { el, get, plural, rate, replace, size, svg, url, whole } from "./dom.js";

export function showData(main, where) {
  const overview = el("div", { class: "two" });
  const facts = el("section", { class: "card" }, el("p", { class: "empty" }, "Counting…"));
  const lists = el("div", { class: "two" });
  const bad = el("section", { class: "card" });
  const detail = el("section", { class: "card", id: "video", hidden: true });
  replace(main, detail, facts, lists, overview, bad);
  const chosen = { file: null, label: null, q: "" };
  let stop = () => {};
  get("/api/data").then((data) => {
    showFacts(facts, data);
    const videos = pagedList("Videos", "videos", (each) => videoRow(each), chosen);
    const files = pagedList("Files", "files", (each) => fileRow(each, chosen, videos), { q: "" });
    replace(lists, files.element, videos.element);
    replace(overview, classes(data, chosen, videos), lengths(data));
    stop = onNow((now) => showBad(bad, data, now));
    go(where);
  }, (error) => replace(facts, el("p", { class: "error" }, error.message)));

  function go([kind, number]) {
    if (kind === "video" && /^\d+$/.test(number ?? "")) showVideo(detail, Number(number));
  }

  const end = () => stop();
  end.go = go;
  return end;
}

function showFacts(place, data) {
  const unit = data.kind === "rows" ? "rows" : data.kind === "videos" ? "videos" : "items";
  const fact = (value, name) => el("div", { class: "fact" }, el("b", {}, value), el("span", { class: "soft" }, name));
  replace(place, el("div", { class: "facts-row" }, fact(whole(data.files), "files"), fact(whole(data.videos), unit), fact(whole(data.frames), "frames"), fact(size(data.bytes), "of fields"), data.split ? fact(data.split, "split") : null),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["field", "kind", "type", "of each"].map((each) => el("th", {}, each)))),
      el("tbody", {}, data.fields.map((each) => el("tr", {}, el("td", {}, el("b", {}, each.name)), el("td", {}, each.encoded ? each.formats.join(" or ") : each.kind), el("td", { class: "mono" }, each.dtype),
        el("td", { class: "mono" }, each.shape.length ? each.shape.map((side) => side || "any").join(" × ") : "one number")))))));
}

function pagedList(title, name, row, parameters) {
  const box = el("div", { class: "list", id: name });
  const more = el("button", { onclick: () => load(next, true) }, "More");
  const search = el("input", { type: "search", placeholder: `Search ${name}`, "aria-label": `search ${name}`, maxlength: 200 });
  const scope = el("p", { class: "wrap small" });
  let next = null, timer = 0, turn = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { parameters.q = search.value; load(0, false); }, 250); });

  async function load(after, keep) {
    const mine = ++turn;
    try {
      const told = await get(`/api/${name}`, { ...parameters, after, count: 50 });
      if (mine !== turn) return;
      const rows = told[name].map(row);
      if (keep) box.append(...rows);
      else replace(box, rows);
      if (!box.childElementCount && told.next === null) replace(box, el("p", { class: "empty" }, "Nothing is called so."));
      next = told.next;
      more.hidden = next === null;
      replace(scope, parameters.file !== null && parameters.file !== undefined ? chip(`of file ${whole(parameters.file)}`, () => { parameters.file = null; load(0, false); }) : null,
        parameters.label !== null && parameters.label !== undefined ? chip(`of class ${parameters.className}`, () => { parameters.label = null; load(0, false); }) : null);
      if (!rows.length && next !== null) load(next, true); // nothing yet, and there is more to search
    } catch (error) {
      replace(box, el("p", { class: "error" }, error.message));
    }
  }
  load(0, false);
  return { element: el("section", { class: "card" }, el("div", { class: "row" }, el("h2", { class: "grow" }, title), search), scope, box, el("p", {}, more)), load: () => load(0, false) };
}

const chip = (text, remove) => el("button", { class: "chip", onclick: remove, title: "show all" }, `${text} ✕`);

function fileRow(each, chosen, videos) {
  return el("button", { onclick: () => { chosen.file = each.file; videos.load(); } }, el("span", { class: "name" }, each.path.split("/").at(-1)), el("span", { class: "soft nowrap" }, plural(each.videos, "video")),
    el("span", { class: "under" }, `${each.path} · ${size(each.bytes)}`));
}

function videoRow(each) {
  return el("button", { onclick: () => { location.hash = `data/video/${each.video}`; } }, el("span", { class: "name" }, each.name || "(no name)"), el("span", { class: "soft nowrap" }, plural(each.frames, "frame")),
    el("span", { class: "under" }, each.label !== null ? el("span", { class: "chip label" }, String(each.label)) : null, ` ${each.path}`));
}

function classes(data, chosen, videos) {
  const most = Math.max(1, ...data.classes.map((each) => each.videos));
  const bars = data.classes.map((each) => el("button", { onclick: () => { chosen.label = each.label; chosen.className = String(each.name); videos.load(); } },
    el("span", { class: "what" }, String(each.name)), el("i", { "width%": (100 * each.videos) / most }), el("span", { class: "right soft" }, whole(each.videos))));
  return el("section", { class: "card", id: "classes" }, el("h2", {}, data.classes.length ? `Classes (${whole(data.classes.length)})` : "Classes"),
    bars.length ? el("div", { class: "bars" }, bars) : el("p", { class: "empty" }, "There are no labels that are whole numbers or names."));
}

function lengths({ lengths: { edges, counts, median } }) {
  const most = Math.max(1, ...counts), width = 560, height = 150;
  const step = width / Math.max(1, counts.length);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height + 20}`, role: "img", "aria-label": "histogram of lengths" },
    counts.map((count, place) => svg("rect", { class: "bar c-accent", x: place * step + 1, width: Math.max(1, step - 2), y: height - (height * count) / most, height: (height * count) / most },
      svg("title", {}, `${Math.ceil(edges[place])} to ${Math.ceil(edges[place + 1]) - 1} frames: ${plural(count, "video")}`))),
    counts.length ? [svg("text", { x: 0, y: height + 15 }, whole(edges[0])), svg("text", { x: width, y: height + 15, "text-anchor": "end" }, whole(edges.at(-1) - 1))] : null);
  return el("section", { class: "card chart" }, el("h2", {}, "Lengths in frames"), counts.length ? el("p", { class: "small soft" }, `median ${whole(median)}`) : null, picture);
}

function showBad(place, data, now) {
  const faults = (now.faults ?? []).filter((each) => /sample|video|frame|file/.test(each.line));
  const rows = [
    ...(now.files ?? []).map((each) => [each.path, `${plural(each.bad_samples_total, "bad sample")}, ${plural(each.slow_reads_total, "slow read")}`]),
    ...faults.map((each) => ["", each.line]),
    ...data.skipped.map(([path, reason]) => [path, reason]),
    ...data.left_out.map((line) => ["no field", line]),
  ];
  replace(place, el("h2", {}, "Bad samples, and what was left out"),
    rows.length ? el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, rows.map(([one, other]) => el("tr", {}, el("td", { class: "long soft" }, one), el("td", { class: "long" }, other))))))
      : el("p", { class: "empty" }, "None was met so far. `loader-service inspect --check=all` decodes every frame.".replaceAll("`", "")));
}

// ---- one video

async function showVideo(place, number) {
  place.hidden = false;
  replace(place, el("p", { class: "empty" }, "…"));
  let video, data;
  try {
    [video, data] = await Promise.all([get(`/api/videos/${number}`), get("/api/data")]);
  } catch (error) {
    replace(place, el("p", { class: "error" }, error.message));
    return;
  }
  const cameras = data.fields.filter((each) => each.kind === "image" || (each.kind === "array" && each.encoded));
  const numbers = data.fields.filter((each) => each.kind === "array" && !each.encoded);
  const slider = el("input", { type: "range", min: 0, max: Math.max(0, video.frames - 1), value: 0, "aria-label": "frame" });
  const at = el("span", { class: "mono nowrap" });
  const figures = cameras.map((each) => ({ name: each.name, image: el("img", { class: "screen", alt: each.name }), words: el("figcaption", {}, each.name) }));
  const plots = [];
  const holder = el("div", { class: "charts" });
  replace(place, el("div", { class: "row" }, el("h2", { class: "grow break" }, video.name || "(no name)"), el("button", { onclick: () => { place.hidden = true; location.hash = "data"; } }, "Close")),
    el("p", { class: "small soft break" }, `${video.path} · video ${whole(number)} · ${plural(video.frames, "frame")}`),
    el("p", { class: "wrap" }, Object.entries(video.values).map(([name, value]) => el("span", { class: name === "label" ? "chip label" : "chip" }, `${name}: ${Array.isArray(value) ? value.map((each) => (typeof each === "number" ? rate(each) : each)).join(", ") : value}`))),
    el("div", { class: "cameras" }, figures.map((each) => el("figure", {}, each.words, each.image))),
    el("div", { class: "row" }, at, el("div", { class: "grow" }, slider)), holder);
  let timer = 0;
  const seek = () => {
    const frame = Number(slider.value);
    at.textContent = `frame ${whole(frame)} of ${whole(video.frames)}`;
    plots.forEach((each) => each.seek(frame));
    clearTimeout(timer);
    timer = setTimeout(() => figures.forEach((each) => load(each, number, frame)), 60);
  };
  slider.addEventListener("input", seek);
  seek();
  place.scrollIntoView({ block: "nearest" });
  for (const each of numbers) {
    try {
      const plot = new Plot(each.name, await get(`/api/videos/${number}/plot`, { field: each.name }), rate);
      plots.push(plot);
      holder.append(plot.element);
      plot.seek(Number(slider.value));
    } catch (error) {
      holder.append(el("section", { class: "card" }, el("h2", {}, each.name), el("p", { class: "error small" }, error.message)));
    }
  }
}

function load(figure, video, frame) {
  const address = url(`/api/videos/${video}/frames.jpg`, { field: figure.name, first: frame, count: 1, side: 512 });
  figure.image.onerror = async () => {
    try { await get(address); } catch (error) { replace(figure.words, `${figure.name}: `, el("span", { class: "error" }, error.message)); }
  };
  figure.image.onload = () => replace(figure.words, figure.name);
  figure.image.src = address;
}
