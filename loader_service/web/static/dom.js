// Elements from data. Texts become text nodes and nothing else, so a name can hold whatever it likes.
const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue; // ARIA's truth values are texts
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width%") element.style.width = `${value}%`;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((each) => each !== undefined && each !== null && each !== false));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((each) => each !== undefined && each !== null && each !== false));
}

// ---- numbers for people

const wholes = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const whole = (value) => wholes.format(value);

export function rate(value) {
  if (value === null || value === undefined) return "–";
  return value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : 2);
}

export function percent(value) {
  return value === null || value === undefined ? "–" : `${Math.round(value * 100)}%`;
}

export function size(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (value >= 1024 && place < units.length - 1) { value /= 1024; place += 1; }
  return `${place && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[place]}`;
}

export function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;

// `code` in a text that the service has written becomes an element; all else stays text.
export function words(text) {
  return text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
}

// ---- the service

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const answer = await fetch(`${path}${query.size ? `?${query}` : ""}`, { signal: AbortSignal.timeout(30000) });
  return understood(answer);
}

export async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", "x-loader-service": "1" },
  });
  return understood(answer);
}

async function understood(answer) {
  if (answer.status === 401) throw new Error("The token is not the right one any more: open the link that the service has printed.");
  if (!(answer.headers.get("content-type") || "").startsWith("application/json")) throw new Error(`The service answered ${answer.status}.`);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error || `The service answered ${answer.status}.`);
  return told;
}

export function url(path, parameters) {
  return `${path}?${new URLSearchParams(parameters)}`;
}

// Calls `look` now and every so often while the tab is seen; returns what ends that.
export function repeatedly(look, everyMs) {
  let timer = 0, ended = false;
  const turn = async () => {
    clearTimeout(timer);
    if (ended || document.hidden) return;
    try { await look(); } finally { if (!ended) timer = setTimeout(turn, everyMs); }
  };
  const wake = () => { if (!document.hidden) turn(); };
  document.addEventListener("visibilitychange", wake);
  turn();
  return () => { ended = true; clearTimeout(timer); document.removeEventListener("visibilitychange", wake); };
}
