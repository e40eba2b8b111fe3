"use strict";
// Where pictures and facts come from: sheets computed beforehand, inside this page.

const source = (() => {
  const all = JSON.parse(document.getElementById("frozen").textContent);
  let cells = []; // of each run: the steps of every latent one after another, then the reconstruction

  async function unpack(address, [height, width]) {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    const rows = image.height / height;
    return Array.from({ length: rows * all.columns }, (_, i) =>
      context.getImageData((i % all.columns) * width, Math.floor(i / all.columns) * height, width, height));
  }

  const ordered = run => [...run.latents].sort((a, b) => a.place - b.place);

  return {
    live: false,
    starts: all.starts,
    session: async () => all,
    async start({ index }) {
      const start = all.starts.find(one => one.index === index);
      cells = await Promise.all(start.sheets.map((sheet, i) => unpack(sheet, all.runs[i].shape)));
      return start;
    },
    factors: async run => all.factors[run.number],
    traverse: async run => cells[run.number],
    // Which latent was moved, and to which of its steps: null for none.
    async decode(run, values, moved) {
      const counts = ordered(run).map(latent => latent.steps.length);
      const before = count => counts.slice(0, count).reduce((sum, n) => sum + n, 0);
      const cell = moved ? before(moved.place) + moved.steps.indexOf(values[moved.place]) : before(counts.length);
      return cells[run.number][cell];
    },
  };
})();
