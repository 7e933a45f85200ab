// Now: who waits for whom, why, and what to do about it.
import { onNow } from "./app.js";
import { Chart } from "./chart.js";
import { duration, el, get, percent, plural, post, rate, repeatedly, replace, size, whole, words } from "./dom.js";

const SPANS = [["1 min", 60], ["10 min", 600], ["1 hour", 3600]];

const STAGE_OF = { reading: "reading", decoding: "decoding", transform: "decoding", slow_worker: "decoding", memory: "slots", receiver: "slots", lookahead: "trainer", trainer: "trainer" };

export function showNow(main) {
  const verdicts = el("div", { class: "row", id: "verdicts" });
  verdicts.className = "";
  const path = el("div", { class: "path", id: "path" });
  const charts = makeCharts();
  const streams = el("section", { class: "card" });
  const workers = el("section", { class: "card" });
  const faults = el("section", { class: "card", id: "faults" });
  let span = 600;
  const buttons = SPANS.map(([label, seconds]) => el("button", { "aria-pressed": String(seconds === span), onclick: () => choose(seconds) }, label));
  const control = el("div", { class: "row" });
  replace(main, verdicts, path, el("div", { class: "row" }, el("h2", { class: "grow" }, "Over time"), buttons),
    el("div", { class: "charts" }, charts.map((each) => each.element)), streams, workers, faults);

  function choose(seconds) {
    span = seconds;
    buttons.forEach((each, place) => each.setAttribute("aria-pressed", String(SPANS[place][1] === span)));
    look();
  }

  async function look() {
    try {
      const columns = await get("/api/history", { seconds: span });
      charts.forEach((each) => each.set(columns));
    } catch { /* the head of the page says that the service does not answer */ }
  }

  const stopListening = onNow((now) => {
    if (!now.service) return;
    showVerdicts(verdicts, now);
    showPath(path, now);
    showStreams(streams, now);
    showWorkers(workers, now, control);
    showFaults(faults, now);
  });
  const stopLooking = repeatedly(look, 2000);
  return () => { stopListening(); stopLooking(); };
}

function showVerdicts(place, now) {
  if (!now.verdicts.length) {
    replace(place, el("section", { class: "card verdict" },
      el("p", { class: "head" }, "Nobody trains at the moment."),
      el("p", { class: "advice soft" }, "A trainer connects with ", el("code", {}, `loader_client.dataset("${now.service.endpoint}", batch_size=16)`))));
    return;
  }
  replace(place, el("div", { class: "charts one" }, now.verdicts.map(oneVerdict)));
  place.firstChild.className = now.verdicts.length > 1 ? "charts" : "";
}

function oneVerdict(each) {
  const tone = { good: "good", warn: "warn", bad: "bad" }[each.tone] ?? "";
  const waiting = each.waiting;
  return el("section", { class: `card verdict ${tone}`, "data-kind": each.kind },
    el("p", { class: "soft small break" }, each.who),
    el("p", { class: "head" }, words(each.head)),
    each.advice ? el("p", { class: "advice" }, el("b", {}, "What helps: "), words(each.advice)) : null,
    waiting === null ? null : el("div", { class: "share", role: "img", "aria-label": `the trainer waits ${percent(waiting)} of the time` },
      el("span", { class: "computing", "width%": (1 - waiting) * 100 }, waiting < 0.75 ? `trainer computes ${percent(1 - waiting)}` : waiting < 0.92 ? percent(1 - waiting) : ""),
      el("span", { class: "waiting", "width%": waiting * 100 }, waiting > 0.25 ? `waits for data ${percent(waiting)}` : waiting > 0.08 ? percent(waiting) : "")));
}

function stage(name, title, figure, under, share, narrow) {
  return el("div", { class: `stage${narrow ? " narrow" : ""}`, "data-stage": name }, el("h3", {}, title), el("div", { class: "figure" }, figure),
    el("div", { class: "small soft" }, under), el("div", { class: "meter" }, el("i", { "width%": Math.round((share ?? 0) * 100) })));
}

function showPath(place, now) {
  const { rates, service, streams } = now;
  const narrow = new Set(now.verdicts.filter((each) => each.tone !== "good").map((each) => STAGE_OF[each.kind]));
  if (now.verdicts.length && now.verdicts.every((each) => each.kind === "trainer")) narrow.add("trainer");
  const sum = (key) => streams.reduce((total, each) => total + each[key], 0);
  const slots = sum("slots"), free = Math.max(0, slots - sum("slots_filling") - sum("slots_leased"));
  const busy = rates.idle === undefined || rates.idle === null ? undefined : 1 - rates.idle;
  replace(place,
    stage("reading", "Reading files", percent(rates.reading), reads(now) || "of the workers' time", rates.reading, narrow.has("reading")),
    stage("decoding", service.transform ? "Decoding and transform" : "Decoding", percent(added(rates.decoding, rates.transforming)), "of the workers' time", added(rates.decoding, rates.transforming), narrow.has("decoding")),
    stage("workers", "Workers", `${now.workers.length}`, busy === undefined ? "at work: –" : `at work ${percent(busy)}, idle ${percent(rates.idle)}`, busy, false),
    stage("slots", "Batches in memory", `${sum("slots_leased")} of ${slots}`, `ready; ${sum("slots_filling")} being filled, ${free} free`, slots ? sum("slots_leased") / slots : 0, narrow.has("slots")),
    stage("trainer", streams.length > 1 ? "Trainers" : "Trainer", `${rate(rates.frames || rates.steps)} ${rates.frames ? "frames/s" : "steps/s"}`, `waits ${percent(rates.waiting)} of the time`, 1 - (rates.waiting ?? 1), narrow.has("trainer")));
}

const reads = ({ file_systems: [first] = [] }) => first && `of the workers' time, from ${first.file_system}`;

const added = (one, other) => (one === undefined ? undefined : one + (other ?? 0));

function makeCharts() {
  return [
    new Chart({ title: "Trainer waits for data", series: [{ key: "waiting", label: "share of its time", tone: "wait" }], most: 1, show: percent }),
    new Chart({ title: "Frames to trainers", series: [{ key: "frames", label: "frames/s", tone: "accent" }], show: rate }),
    new Chart({
      title: "What workers do", stacked: true, most: 1, show: percent,
      series: [{ key: "reading", label: "read", tone: "read" }, { key: "decoding", label: "decode", tone: "decode" }, { key: "transforming", label: "transform", tone: "transform" }, { key: "sending", label: "send", tone: "send" }, { key: "idle", label: "idle", tone: "idle" }],
    }),
    new Chart({ title: "Batches to trainers", series: [{ key: "steps", label: "steps/s", tone: "good" }], show: rate }),
  ];
}

function showStreams(place, { streams }) {
  const rows = streams.map((each) => el("tr", {},
    el("td", {}, each.stream), el("td", { class: "long" }, `${each.client} (pid ${each.client_pid})`),
    el("td", { class: "number" }, rate(each.rates.steps_per_s)), el("td", { class: "number" }, rate(each.rates.frames_per_s)),
    el("td", { class: "number" }, percent(each.rates.waiting)),
    el("td", { class: "number" }, whole(each.steps_done)),
    el("td", { class: "number" }, each.steps_per_epoch > 2 ** 30 ? "endless" : each.steps_per_epoch ? whole(each.steps_per_epoch) : "by index"),
    el("td", { class: "number" }, `${each.slots_leased} + ${each.slots_filling} of ${each.slots}`),
    el("td", { class: "number" }, size(each.slot_bytes)),
    el("td", { class: "number" }, each.samples_substituted ? el("span", { class: "chip warn" }, whole(each.samples_substituted)) : "")));
  replace(place, el("h2", {}, `Streams (${streams.length})`), rows.length ? el("div", { class: "scroll" }, el("table", {}, head(
    "stream", "trainer", "#steps/s", "#frames/s", "#waits", "#steps", "#an epoch", "#ready + filling", "#a batch", "#bad samples"), el("tbody", {}, rows)))
    : el("p", { class: "empty" }, "None is open."));
}

const head = (...names) => el("thead", {}, el("tr", {}, names.map((each) => el("th", { class: each.startsWith("#") ? "number" : "" }, each.replace("#", "")))));

function showWorkers(place, now, control) {
  const rows = now.workers.map((each) => el("tr", {},
    el("td", {}, each.node ? `${each.worker} on ${each.node}` : each.worker), el("td", {}, each.straggles ? el("span", { class: "chip warn" }, "slow") : each.state),
    el("td", { class: "number" }, percent(each.rates.working)),
    el("td", { class: "number" }, size(each.rates.bytes_per_s)),
    el("td", { class: "number" }, whole(each.totals.slow_reads_total)),
    el("td", { class: "number nowrap" }, each.doing ? `${each.busy_s.toFixed(1)} s` : ""),
    el("td", { class: "long small" }, doing(each))));
  if (now.control && !control.childElementCount) makeControl(control);
  replace(place, el("div", { class: "row" }, el("h2", { class: "grow" }, `Workers (${now.workers.length})`), now.control ? control : null),
    now.service.workers_sized ? el("p", { class: "small soft" }, now.service.workers_sized) : null,
    el("div", { class: "scroll" }, el("table", {}, head("worker", "state", "#works", "#makes a second", "#slow reads", "#at it for", "at"), el("tbody", {}, rows))));
}

function doing(each) {
  if (!each.doing) return el("span", { class: "soft" }, "nothing to do");
  if (each.doing === "probe") return "trying the transform for a stream that opens";
  if (!each.file) return `a step of stream ${each.stream} that nobody wants any more`;
  return [el("span", { class: "soft" }, `stream ${each.stream}, epoch ${each.epoch}, step ${whole(each.step)}: `), `${each.video} `, el("span", { class: "soft" }, `of ${each.file}`)];
}

function makeControl(control) {
  const count = el("input", { type: "number", min: 1, max: 1024, "aria-label": "workers", id: "workers-wanted" });
  const told = el("span", { class: "small soft", role: "status" });
  const act = async () => {
    try { told.textContent = (await post("/api/scale", { workers: Number(count.value) })).done; } catch (error) { told.textContent = error.message; }
  };
  replace(control, told, count, el("button", { onclick: act, id: "scale" }, "Scale"));
}

function showFaults(place, { faults, counters, service, files = [] }) {
  const lines = [...faults].reverse().map((each) => el("tr", {},
    el("td", { class: "nowrap soft" }, each.at_s === undefined ? "" : `${duration(Math.max(0, service.up_s - each.at_s))} ago`),
    el("td", { class: "long" }, each.line), el("td", { class: "number" }, each.count > 1 ? `${whole(each.count)} times` : "")));
  const counts = Object.entries(counters).map(([name, count]) => el("span", { class: "chip" }, `${name.replaceAll("_", " ")}: ${whole(count)}`));
  replace(place, el("h2", {}, faults.length ? `Faults (${faults.length})` : "Faults"),
    lines.length ? el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, lines))) : el("p", { class: "empty" }, "None since the start."),
    counts.length ? el("p", { class: "wrap" }, counts) : null,
    el("p", { class: "small soft" }, `${size(service.memory_bytes)} of ${size(service.memory_budget_bytes)} of shared memory in batches. `, plural(files.length, "file"), " with slow reads or bad samples."));
}
