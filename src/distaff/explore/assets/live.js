"use strict";
// Where pictures and facts come from: the server that this page came from.

const source = (() => {
  async function ask(address, options) {
    let answer;
    try {
      answer = await fetch(address, options);
    } catch {
      throw new Error("The explorer does not answer: is it still running?");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({ error: `The explorer failed (${answer.status}): its terminal says why.` }));
    throw new Error(said.error);
  }

  const post = (address, question) => ask(address, { method: "POST", body: JSON.stringify(question) });
  const json = async answer => (await answer).json();
  const pictures = async (answer, run) => toPictures(new Uint8Array(await (await answer).arrayBuffer()), run.shape);

  return {
    live: true,
    session: () => json(ask("api/session")),
    start: question => json(post("api/start", question)),
    upload: file => json(ask("api/upload", { method: "POST", body: file })),
    rename: (run, latent, title) => json(post(`api/name?run=${run.number}`, { latent, title })),
    factors: run => json(ask(`api/factors?run=${run.number}`)),
    traverse: (run, values) => pictures(post(`api/traverse?run=${run.number}`, { values }), run),
    decode: async (run, values) => (await pictures(post(`api/decode?run=${run.number}`, { values }), run))[0],
  };
})();
