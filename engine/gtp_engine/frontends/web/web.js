"use strict";
// The live page: shows what the server tells, draws a person's own move at once, and sends wishes.

const choices = JSON.parse(document.getElementById("data").textContent);
const MOST_FILE = 1 << 20;
const TOO_MANY_TABS = 4000; // the server says why it closes the socket
const seats = byId("seats"), terms = byId("terms");

let socket, view;
let told = null; // the newest state of the server
let shown = null; // the turn that is looked at; null: the newest
let sent = null; // a move of one's own that the server has not answered yet: {turn, point}
let line = null; // a candidate's line that is shown as numbered stones: {turn, candidate}
let hint = ""; // why the page itself did not do what was last tried
let looking = false, owners = false;

// To and from the server --------------------------------------------------------------------------

function connect() {
  socket = new WebSocket(`ws://${location.host}${location.pathname}socket`);
  socket.addEventListener("message", (event) => take(JSON.parse(event.data)));
  socket.addEventListener("close", (event) => {
    sent = null;
    say([event.code === TOO_MANY_TABS ? event.reason : "The connection is lost; trying again. If gtp-engine has ended, start it and open the new address."]);
    setTimeout(connect, 1000);
  });
}

function wish(what, more = {}) {
  hint = "";
  send(JSON.stringify({ do: what, ...more }));
}

// Nothing is kept for later: the game may be another one by then.
function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(message);
  else refuse("That was not sent: there was no connection.");
}

function take(state) {
  const before = told;
  told = state;
  const isOther = !before || before.game !== state.game || String(before.size) !== String(state.size);
  if (isOther) begin();
  if (isOther || JSON.stringify(before.seat) !== JSON.stringify(state.seat)) fill(state.seat || {});
  if (sent && (state.moves.length !== sent.turn || state.said.length)) sent = null;
  if (before?.looking !== state.looking) looking = state.looking;
  if (shown !== null && shown >= state.moves.length) shown = null;
  if (looking && (isOther || before.moves.length !== state.moves.length)) look();
  show();
}

function begin() {
  byId("board").replaceChildren();
  view = new BoardView(byId("board"), ...told.size);
  shown = sent = null;
  terms.elements.size.value = told.size[0] === told.size[1] ? told.size[0] : told.size.join("x");
  terms.elements.rules.value = choices.rules.includes(told.rules) ? told.rules : choices.rules[0];
}

function fill(seat) {
  for (const [name, value] of Object.entries(seat)) seats.elements[name].value = value;
}

// What is shown -----------------------------------------------------------------------------------

function turnShown() {
  return shown ?? told.moves.length;
}

function moveAt(turn) {
  const text = told.moves[turn];
  return { color: Number(text[0]), point: readPoint(text.slice(1), view.width) };
}

function positionAt(turn) {
  const position = new Position(...told.size, told.start ? [...told.start].map(Number) : null);
  for (let at = 0; at < turn; at++) {
    const { color, point } = moveAt(at);
    position.play(color, point);
  }
  return position;
}

function toPlay() {
  return shown === null || shown >= told.moves.length ? told.to_play : moveAt(shown).color;
}

function found() {
  return looking && told.found && told.found.turn === turnShown() ? told.found : null;
}

// The candidate whose line is shown, as it was last told; null where none is.
function lineShown() {
  if (line?.turn !== turnShown() || !found()) return null;
  line.candidate = found().candidates.find((each) => each.at === line.candidate.at) ?? line.candidate;
  return line.candidate;
}

function countShown() {
  return told.count?.turn === told.moves.length && shown === null ? told.count : null;
}

function show() {
  const turn = turnShown(), position = positionAt(turn), count = countShown();
  if (sent) position.play(told.to_play, sent.point);
  ["marks", "ghosts", "owners"].forEach((layer) => view.clear(layer));
  view.setStones(position);
  const last = sent ? sent.point : turn ? moveAt(turn - 1).point : PASS;
  if (last !== PASS) view.ring("marks", last, "last");
  if (count) showCount(count);
  else if (found() && !sent) {
    if (owners) view.setOwners(found().owners);
    view.candidates(position, found());
    const candidate = lineShown();
    if (candidate) view.preview(position, toPlay(), candidate.pv);
  }
  showTurn(turn, told.moves.length);
  byId("analyse").setAttribute("aria-pressed", looking);
  byId("show-owners").setAttribute("aria-pressed", owners);
  write(turn);
}

function showCount(count) {
  const text = new Array(told.size[0] * told.size[1]).fill(OWNERSHIP[32]);
  for (const point of readPoints(count.black_territory, view.width)) text[point] = OWNERSHIP[64];
  for (const point of readPoints(count.white_territory, view.width)) text[point] = OWNERSHIP[0];
  view.setOwners(text);
  for (const point of readPoints(count.dead, view.width)) view.label("marks", point, "×", "dead", 0.8);
}

function write(turn) {
  const { names, moves, doing, captured, review } = told, now = found();
  const isThinking = doing === "thinking";
  byId("standing").textContent = !told.is_ready ? "Please wait"
    : told.result && shown === null ? `The game is over: ${told.result}`
      : now ? `Move ${turn}: ${standing(now)}`
        : `Move ${turn}: ${nameOf(toPlay())} to play`;
  if (names) {
    byId("players").textContent = `${names[0] || "Black"} and ${names[1] || "White"}`;
    byId("facts").textContent = `${told.size.join("x")} · ${told.rules} rules · komi ${told.komi} · captured by Black ${captured[0]}, by White ${captured[1]}`;
  }
  const last = turn && !sent ? moveAt(turn - 1) : null;
  const lines = last ? [`${nameOf(last.color)} ${positionAt(0).vertex(last.point)}.`] : [];
  if (doing) lines.push(`${doing[0].toUpperCase()}${doing.slice(1)} …`);
  if (review?.error) lines.push(`No review: ${review.error}.`);
  say([...lines, ...told.said, ...(hint ? [hint] : [])]);
  byId("visits-made").textContent = now ? `${now.visits} visits` : "";
  byId("go").textContent = isThinking ? "Move now" : "Engine moves";
  nameLines(now && !sent ? now.candidates.slice(0, 3) : []);
  const isAtWork = review && !review.error && review.done < 100;
  byId("progress").hidden = byId("cancel").hidden = !isAtWork;
  byId("progress").value = review ? review.done : 0;
  byId("review").disabled = Boolean(isAtWork) || !moves.length;
  byId("review-link").hidden = !(review && review.done === 100);
}

// Buttons stay while searches go on: one that is made anew loses the focus, and half of a click.
function nameLines(candidates) {
  const all = byId("lines");
  while (all.children.length > candidates.length) all.lastChild.remove();
  candidates.forEach((candidate, index) => {
    const made = all.children[index] || addButton(all, "", () => toggleLine(found().candidates[index]));
    const words = `${index ? "or" : "Best:"} ${positionAt(0).vertex(readPoint(candidate.at, view.width))}`;
    if (made.textContent !== words) made.textContent = words;
  });
}

function toggleLine(candidate) {
  showLine(lineShown()?.at === candidate.at ? null : candidate);
}

function showLine(candidate) {
  line = candidate && { turn: turnShown(), candidate };
  show();
}

// Stays while the server goes on telling, until something else is tried.
function refuse(why) {
  hint = why;
  if (told) show();
}

function say(sentences) {
  const text = sentences.join("\n");
  if (byId("note").textContent !== text) byId("note").textContent = text;
}

// What people do ----------------------------------------------------------------------------------

function go(turn) {
  if (!told) return;
  hint = "";
  const to = Math.max(0, Math.min(told.moves.length, turn));
  shown = to === told.moves.length ? null : to;
  if (looking) look();
  show();
}

function look() {
  wish("look", { turn: looking ? turnShown() : -1 });
}

function playAt(vertex, point = null) {
  if (!told || !told.is_ready || sent) return;
  if (told.result) return refuse("The game is over. Undo takes it up again; New game begins another.");
  if (shown !== null) return refuse("Moves are made in the newest position: press End, or take moves back.");
  const isMine = told.seat.you === "both" || colorOf(told.seat.you) === told.to_play;
  if (!isMine || (point !== null && positionAt(told.moves.length).stones[point] !== EMPTY)) return;
  if (point !== null && socket.readyState === WebSocket.OPEN) sent = { turn: told.moves.length, point };
  show();
  wish("play", { at: vertex, turn: told.moves.length });
}

// A mouse over a candidate shows its line.
function hover(event) {
  const point = event && told && found() ? view.pointAt(event) : null;
  const candidate = point === null ? null : found().candidates.find((each) => readPoint(each.at, view.width) === point);
  if (candidate?.at !== lineShown()?.at) showLine(candidate);
}

function toggleAnalysis() {
  looking = !looking;
  look();
  show();
}

function fields(form) {
  return Object.fromEntries(new FormData(form));
}

// One playout is what suits the net human, and no other.
function suitPlayouts() {
  const { net, playouts } = seats.elements;
  if (net.value === "human") playouts.value = 1;
  else if (playouts.value === "1") playouts.value = "";
}

async function load(file) {
  byId("file").value = ""; // so that the same one may be chosen again
  if (!file) return;
  if (file.size > MOST_FILE) return refuse("The file is too large for a game.");
  hint = "";
  send(await file.arrayBuffer());
}

function option(value) {
  return element("option", value);
}

function start() {
  for (const field of [seats.elements.net, seats.elements.level, terms.elements.rules]) {
    field.append(...[...new Set(choices[field.name])].map(option));
  }
  terms.elements.handicap.append(...[0, 2, 3, 4, 5, 6, 7, 8, 9].map(option));
  const moveKeys = bindMoves(go, (by) => go(turnShown() + by), () => Infinity);
  bindKeys(() => (told ? {
    ...moveKeys, Escape: () => showLine(null), a: toggleAnalysis, t: () => byId("show-owners").click(),
    u: () => wish("undo"), r: () => wish("redo"), g: () => byId("go").click(), s: () => byId("score").click(),
  } : {}));
  byId("pass").addEventListener("click", () => playAt("pass"));
  for (const name of ["undo", "redo", "resign", "score", "cancel"]) byId(name).addEventListener("click", () => wish(name));
  byId("go").addEventListener("click", () => wish(told?.doing === "thinking" ? "stop" : "go"));
  byId("analyse").addEventListener("click", toggleAnalysis);
  byId("show-owners").addEventListener("click", () => { owners = !owners; if (owners && !looking) toggleAnalysis(); else show(); });
  byId("review").addEventListener("click", () => wish("review", { visits: byId("visits").value }));
  byId("file").addEventListener("change", (event) => load(event.target.files[0]));
  seats.elements.net.addEventListener("change", suitPlayouts);
  seats.addEventListener("submit", (event) => { event.preventDefault(); wish("seat", fields(seats)); });
  terms.addEventListener("submit", (event) => { event.preventDefault(); wish("new", { ...fields(seats), ...fields(terms) }); });
  byId("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    playAt(byId("vertex").value);
    byId("vertex").value = "";
  });
  byId("board").addEventListener("click", (event) => {
    const point = view?.pointAt(event) ?? null;
    if (point === null) return;
    const vertex = positionAt(0).vertex(point);
    if (told && countShown() && positionAt(turnShown()).stones[point] !== EMPTY) wish("dead", { at: vertex });
    else playAt(vertex, point);
  });
  bindMouse(byId("board"), hover);
  connect();
}

start();
