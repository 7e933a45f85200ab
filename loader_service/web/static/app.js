// Which page is shown, and whether the service answers. Each page is a function that fills `main` and returns its end.
import { showData } from "./data.js";
import { duration, el, get, repeatedly, replace } from "./dom.js";
import { showNow } from "./now.js";
import { showSamples } from "./samples.js";

const PAGES = { now: showNow, samples: showSamples, data: showData };
const main = document.getElementById("page");
let end = () => {};
let shown = "";

function route() {
  const [name, ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const page = PAGES[name] ? name : "now";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (page === shown && end.go) { end.go(rest); return; }
  end();
  replace(main);
  shown = page;
  end = PAGES[page](main, rest) ?? (() => {});
}

let asOf = null; // when the service was heard last

function health(error, service) {
  if (!error) asOf = new Date();
  document.body.classList.toggle("stale", Boolean(error));
  const dot = document.querySelector("#health .dot");
  dot.className = `dot ${error ? "bad" : "good"}`;
  const words = document.getElementById("health-words");
  const old = asOf ? ` What is shown is of ${asOf.toLocaleTimeString()}.` : "";
  words.textContent = error ? `${error}${old}` : `${service.serves} · up ${duration(service.up_s)}`;
  words.title = service ? `${service.endpoint}, pid ${service.pid}, version ${service.version}` : "";
}

// One question for all that is shown of the present; pages listen.
const listeners = new Set();
let latest = null;

export function onNow(listen) {
  listeners.add(listen);
  if (latest) listen(latest);
  return () => listeners.delete(listen);
}

repeatedly(async () => {
  try {
    latest = await get("/api/now");
    health(latest.error, latest.service);
    for (const listen of listeners) listen(latest);
  } catch (error) {
    health(error.name === "TimeoutError" || error instanceof TypeError ? "The service does not answer." : error.message, null);
  }
}, 1000);

addEventListener("hashchange", route);
queueMicrotask(route);
export { el };
