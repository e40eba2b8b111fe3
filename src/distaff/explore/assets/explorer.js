"use strict";
// The page: a panel per run, a row per latent. `source` (live.js or frozen.js) answers for the models.

const byId = id => document.getElementById(id);
const stamp = id => byId(id).content.firstElementChild.cloneNode(true);
const rows = new Map(); // a latent's element → its row
const page = { panels: [], data: null };
const PAUSE = 120; // milliseconds without a move before the rows of pictures are drawn anew
const GAP = 2; // pixels between the pictures of a row

function say(text, wrong = false) {
  const line = byId("message");
  line.textContent = text;
  line.classList.toggle("wrong", wrong);
}

// Run `work`; what goes wrong becomes a message.
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    return say(error.message, true);
  }
}

// At most one question is under way; of those put meanwhile only the last is asked.
function latest(ask, show) {
  let next = null;
  let busy = false;
  return async question => {
    next = question;
    if (busy) return;
    busy = true;
    while (next) {
      const now = next;
      next = null;
      await attempt(async () => show(await ask(now)));
    }
    busy = false;
  };
}

class Row {
  constructor(panel, latent, template) {
    Object.assign(this, { panel, latent, root: stamp(template) });
    rows.set(this.root, this);
    this.find(".name code").textContent = latent.name;
    const share = this.find(".information");
    share.textContent = `${latent.information.toFixed(2)} nats`;
    share.title = `I(x; ${latent.name}), over ${panel.run.observations.toLocaleString("en")} observations`;
    share.style.setProperty("--share", `${Math.min(100 * latent.information / panel.most, 100)}%`);
    const name = this.find(".name input");
    name.setAttribute("aria-label", `Name of ${latent.name}`);
    name.readOnly = !source.live;
    name.addEventListener("change", () => this.rename(name));
    name.addEventListener("keydown", event => {
      if (event.key === "Escape") name.value = latent.title;
      if (event.key === "Escape" || event.key === "Enter") this.control.focus();
    });
    this.label();
  }

  find(selector) {
    return this.root.querySelector(selector);
  }

  get called() {
    return this.latent.title ? `${this.latent.name}, ${this.latent.title}` : this.latent.name;
  }

  label() {
    const name = this.find(".name input");
    name.value = this.latent.title;
    name.placeholder = source.live ? "name it" : "";
  }

  async rename(field) {
    await attempt(async () => {
      const names = await source.rename(this.panel.run, this.latent.name, field.value);
      this.latent.title = names[this.latent.name] ?? "";
      say(this.latent.title ? `Saved: ${this.latent.name} is “${this.latent.title}”.` : `${this.latent.name} has no name now.`);
      this.panel.drawMatrix();
    });
    this.label();
  }

  cells(pictures) {
    return pictures.slice(this.first, this.first + this.latent.steps.length);
  }
}

class RealRow extends Row {
  constructor(panel, latent) {
    super(panel, latent, "real-latent");
    const { reach, steps } = latent;
    const [low, high] = source.live ? [-reach, reach] : [steps[0], steps.at(-1)];
    this.control = this.find(".slider");
    // A hair less than a step: rounding must not put the last one out of reach.
    const step = source.live ? reach / 100 : (high - low) / (steps.length - 1) * 0.999999;
    Object.assign(this.control, { min: low, max: high, step });
    this.control.addEventListener("input", () => panel.move(this, this.nearest(this.control.valueAsNumber)));
    this.control.addEventListener("dblclick", () => panel.reset(this));
    this.find(".row canvas").addEventListener("click", event => {
      const step = Math.floor(event.offsetX / event.target.clientWidth * steps.length);
      panel.move(this, steps[Math.min(Math.max(step, 0), steps.length - 1)]);
    });
    const inside = Math.round(latent.posterior.length * (high - low) / (2 * reach));
    const outside = Math.round((latent.posterior.length - inside) / 2);
    const shown = masses => masses.slice(outside, outside + inside);
    drawHistogram(this.find(".histogram"), shown(latent.posterior), shown(latent.prior),
      `Histogram of q(${latent.name}) over the data, with the prior’s density as a line`);
  }

  label() {
    super.label();
    this.find(".slider").setAttribute("aria-label", this.called);
    this.find(".row canvas").setAttribute("aria-label", `Pictures as ${this.called} moves from low to high`);
  }

  // A page computed beforehand has pictures of the steps only.
  nearest(value) {
    const closer = (a, b) => (Math.abs(a - value) < Math.abs(b - value) ? a : b);
    return source.live ? value : this.latent.steps.reduce(closer);
  }

  show(pictures) {
    drawRow(this.find(".row canvas"), this.cells(pictures), GAP);
  }

  sync(value) {
    const { steps } = this.latent;
    this.control.value = value;
    this.control.setAttribute("aria-valuetext", signed(value));
    this.find("output").textContent = signed(value);
    const along = Math.min(Math.max((value - steps[0]) / (steps.at(-1) - steps[0]), 0), 1);
    const here = this.find(".here");
    here.style.width = `${100 / steps.length}%`;
    here.style.left = `${along * 100 * (steps.length - 1) / steps.length}%`;
  }
}

class ClassRow extends Row {
  constructor(panel, latent) {
    super(panel, latent, "discrete-latent");
    const most = Math.max(...latent.posterior, ...latent.prior, 1e-9);
    const group = `classes-${panel.run.number}-${latent.place}`;
    this.choices = latent.steps.map(value => {
      const choice = element("label");
      const radio = element("input", undefined, { type: "radio", name: group, value, "aria-label": `class ${value}` });
      radio.addEventListener("change", () => panel.move(this, value));
      const share = element("span", undefined, { class: "share" });
      share.title = `q ${(100 * latent.posterior[value]).toFixed(1)} %, prior ${(100 * latent.prior[value]).toFixed(1)} %`;
      share.style.setProperty("--posterior", `${100 * latent.posterior[value] / most}%`);
      share.style.setProperty("--prior", `${100 * latent.prior[value] / most}%`);
      choice.append(radio, element("canvas"), share, element("span", value));
      return choice;
    });
    this.find("fieldset").append(...this.choices);
  }

  get control() {
    return this.find("input:checked") ?? this.find("input[type=radio]");
  }

  label() {
    super.label();
    this.find("legend").textContent = `Class of ${this.called}`;
  }

  show(pictures) {
    this.cells(pictures).forEach((picture, i) => drawRow(this.choices[i].querySelector("canvas"), [picture]));
  }

  sync(value) {
    this.choices.forEach((choice, i) => { choice.querySelector("input").checked = i === value; });
  }
}

class Panel {
  constructor(run) {
    Object.assign(this, { run, root: stamp("run-panel"), values: [], start: [], moved: null, found: null });
    this.root.classList.toggle("drawn", run.drawn);
    this.most = Math.max(...run.latents.map(latent => latent.information), run.unused);
    const find = selector => this.root.querySelector(selector);
    find("h2").textContent = run.title;
    find(".facts").textContent = Object.entries(run.facts).map(([name, value]) => `${name} ${value}`).join(" · ");
    find(".facts").title = run.path;
    find(".notices").append(...run.notices.map(text => element("p", text)));
    find(".back").addEventListener("click", () => this.reset());
    this.decoded = find(".decoded canvas");
    this.decoded.setAttribute("aria-label", "What the model decodes from the latents");
    this.decode = latest(([values, moved]) => source.decode(run, values, moved), picture => drawRow(this.decoded, [picture]));
    this.traverse = latest(values => source.traverse(run, values), pictures => this.rows.forEach(row => row.show(pictures)));
    this.rows = run.latents.map(latent => new (latent.classes ? ClassRow : RealRow)(this, latent));
    this.place();
    this.fold(find);
    attempt(async () => {
      this.found = await source.factors(run).catch(error => ({ note: error.message }));
      this.drawMatrix();
      find(".matrix").open = Boolean(this.found.factors);
    });
  }

  // Where each latent's pictures start among all of a traversal.
  place() {
    let first = 0;
    for (const row of [...this.rows].sort((a, b) => a.latent.place - b.latent.place)) {
      row.first = first;
      first += row.latent.steps.length;
    }
  }

  fold(find) {
    const used = this.rows.filter(row => row.latent.information >= this.run.unused);
    const unused = this.rows.filter(row => !used.includes(row));
    find(".used").setAttribute("aria-label", `Latents of ${this.run.title}`);
    find(".used").append(...used.map(row => row.root));
    find(".unused").append(...unused.map(row => row.root));
    find(".unused").hidden = !unused.length;
    find(".unused").open = !used.length;
    const what = unused.length === 1 ? "1 latent carries" : `${unused.length} latents carry`;
    find(".unused summary").textContent = `${what} almost no information (under ${this.run.unused} nats)`;
  }

  drawMatrix() {
    const content = this.root.querySelector(".matrix .content");
    if (!this.found) return;
    content.replaceChildren(element("p", this.found.note));
    if (!this.found.factors) return;
    const scrolling = element("div", undefined, { class: "scroll", tabindex: 0, role: "region", "aria-label": "Mutual information" });
    scrolling.append(matrixTable(this.run.latents, this.found));
    content.append(scrolling);
  }

  begin(start) {
    const original = this.root.querySelector(".original");
    original.hidden = !start.picture;
    if (start.picture) {
      drawRow(original.querySelector("canvas"), toPictures(fromBase64(start.picture), this.run.shape));
      original.querySelector("canvas").setAttribute("aria-label", `Where the latents start: ${start.label}`);
      original.querySelector(".label").textContent = start.label;
      original.querySelector(".about").textContent = start.facts.map(([name, value]) => `${name} ${value}`).join(" · ");
    }
    this.start = start.values[this.run.number];
    this.reset();
  }

  move(row, value) {
    if (!source.live) this.values = [...this.start];
    this.values[row.latent.place] = value;
    this.moved = row.latent;
    this.refresh();
  }

  // One latent, or all of them, back to where they started.
  reset(row) {
    if (row) this.values[row.latent.place] = this.start[row.latent.place];
    else this.values = [...this.start];
    this.moved = null;
    this.refresh();
  }

  refresh() {
    for (const row of this.rows) row.sync(this.values[row.latent.place]);
    this.decode([[...this.values], this.moved]);
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.traverse([...this.values]), PAUSE);
  }
}

async function begin(starting, thanks = "") {
  await attempt(async () => {
    const start = await starting;
    say(thanks);
    if (start.index !== undefined) byId("index").value = start.index;
    if (source.live) history.replaceState(null, "", start.index === undefined ? "#" : `#${start.index}`);
    for (const panel of page.panels) panel.begin(start);
  });
}

const actions = {
  random: () => begin(source.start({ index: Math.floor(Math.random() * page.data.size) })),
  centre: () => begin(source.start({})),
  upload: file => begin(source.upload(file), `Starting from ${file.name}.`),
  back: () => page.panels.forEach(panel => panel.reset()),
  help: () => { byId("help").open = !byId("help").open; byId("help").querySelector("summary").focus(); },
};

// The row that has the focus, if any.
const current = () => rows.get(document.activeElement?.closest(".latent"));

function step(by) {
  const open = [...rows.values()].filter(row => row.root.checkVisibility());
  const at = open.indexOf(current());
  open[at < 0 ? (by > 0 ? 0 : open.length - 1) : Math.min(Math.max(at + by, 0), open.length - 1)]?.control.focus();
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=text], input[type=number]")) return;
  const row = current();
  const live = { r: actions.random, c: actions.centre, u: () => byId("choose").click(), n: () => row?.find(".name input").select() };
  const keys = { j: () => step(1), k: () => step(-1), 0: () => row?.panel.reset(row), Escape: actions.back, "?": actions.help };
  const action = { ...keys, ...(source.live ? live : {}) }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function listen() {
  document.addEventListener("keydown", press);
  if (!source.live) return;
  byId("start").addEventListener("submit", event => {
    event.preventDefault();
    begin(source.start({ index: byId("index").valueAsNumber }));
  });
  byId("random").addEventListener("click", actions.random);
  byId("centre").addEventListener("click", actions.centre);
  byId("choose").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", event => {
    if (event.target.files[0]) actions.upload(event.target.files[0]);
    event.target.value = "";
  });
  document.addEventListener("dragover", event => event.preventDefault());
  document.addEventListener("drop", event => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) actions.upload(event.dataTransfer.files[0]);
  });
}

// A page computed beforehand offers a few observations as pictures.
function offer(starts, { shape, drawn }) {
  const choices = starts.map((start, i) => {
    const choice = element("label", undefined, { title: start.label });
    const radio = element("input", undefined, { type: "radio", name: "start", "aria-label": start.label });
    radio.checked = i === 0;
    radio.addEventListener("change", () => begin(source.start(start)));
    const canvas = element("canvas");
    drawRow(canvas, toPictures(fromBase64(start.picture), shape));
    choice.append(radio, canvas);
    return choice;
  });
  byId("starts").append(...choices);
  byId("starts").classList.toggle("drawn", drawn);
  byId("starts").hidden = false;
}

async function main() {
  const session = await source.session();
  page.data = session.data;
  const titles = [...new Set(session.runs.map(run => run.title))];
  byId("title").textContent = session.runs.length > 1 ? "two runs side by side" : titles[0];
  document.title = `${titles.join(" and ")} · distaff`;
  byId("runs").classList.toggle("two", session.runs.length > 1);
  page.panels = session.runs.map((run, number) => new Panel(Object.assign(run, { number })));
  byId("runs").append(...page.panels.map(panel => panel.root));
  listen();
  if (!source.live) {
    byId("frozen-note").hidden = false;
    document.querySelectorAll(".live").forEach(line => line.remove());
    offer(source.starts, session.runs[0]);
    return begin(source.start(source.starts[0]));
  }
  byId("start").hidden = false;
  byId("index").max = session.data.size - 1;
  byId("choose").hidden = !session.images;
  const asked = Number.parseInt(location.hash.slice(1), 10);
  return begin(source.start({ index: asked >= 0 && asked < session.data.size ? asked : session.data.start }));
}

attempt(main);
