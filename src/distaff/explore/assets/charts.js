"use strict";
// Small drawings: numbers as text, pictures on canvases, histograms, the matrix of latents and factors.

const signed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");

// Raw bytes, row by row, one or three per pixel → one ImageData per picture.
function toPictures(bytes, [height, width, channels]) {
  const size = height * width * channels;
  return Array.from({ length: Math.floor(bytes.length / size) }, (_, n) => {
    const picture = new ImageData(width, height);
    for (let p = 0, from = n * size; p < picture.data.length; p += 4, from += channels) {
      picture.data[p] = bytes[from];
      picture.data[p + 1] = bytes[channels === 3 ? from + 1 : from];
      picture.data[p + 2] = bytes[channels === 3 ? from + 2 : from];
      picture.data[p + 3] = 255;
    }
    return picture;
  });
}

const fromBase64 = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

// Pictures side by side, with a gap of some pixels of their own.
function drawRow(canvas, pictures, gap = 0) {
  const { width, height } = pictures[0];
  const whole = pictures.length * width + (pictures.length - 1) * gap;
  if (canvas.width !== whole) canvas.width = whole;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  pictures.forEach((picture, i) => context.putImageData(picture, i * (width + gap), 0));
}

// q(z) as a filled outline of bars, the prior as a line; both share the area's height.
function drawHistogram(svg, posterior, prior, description) {
  const count = posterior.length;
  const top = Math.max(...posterior, 1.25 * Math.max(...prior), 1e-9);
  const y = value => (1 - value / top).toFixed(4);
  const bars = posterior.map((value, i) => `V${y(value)}H${i + 1}`).join("");
  const line = prior.map((value, i) => `${i ? "L" : "M"}${i + 0.5} ${y(value)}`).join("");
  svg.setAttribute("viewBox", `0 0 ${count} 1`);
  svg.setAttribute("aria-label", description);
  svg.replaceChildren(path(`M0 1${bars}V1Z`, "posterior"), path(line, "prior"));
}

function path(d, kind) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
  element.setAttribute("d", d);
  element.setAttribute("class", kind);
  return element;
}

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// A table of I(z; y), shaded by its share of H(y); latents in the order of the page.
function matrixTable(latents, found) {
  const table = element("table", undefined, { "aria-label": "Mutual information of latents and factors, in nats" });
  const head = table.createTHead().insertRow();
  head.append(element("td"), ...found.factors.map(name => element("th", name, { scope: "col" })));
  const body = table.createTBody();
  for (const latent of latents) {
    const row = body.insertRow();
    row.append(element("th", latent.title ? `${latent.name} ${latent.title}` : latent.name, { scope: "row" }));
    found.information[latent.place].forEach((nats, k) => {
      const share = found.entropies[k] ? Math.min(nats / found.entropies[k], 1) : 0;
      const cell = row.insertCell();
      cell.textContent = nats.toFixed(2);
      cell.style.setProperty("--share", `${Math.round(100 * share)}%`);
      cell.classList.toggle("half", share > 0.45);
      cell.classList.toggle("most", share > 0.75);
    });
  }
  const foot = table.createTFoot().insertRow();
  foot.append(element("th", "entropy", { scope: "row" }), ...found.entropies.map(nats => element("td", nats.toFixed(2))));
  return table;
}
