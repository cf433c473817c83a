// In how many ways can a web page send a body to an address that is not its own? Each function below is one: it sends
// `body` (JSON-RPC) to `url` and returns the answer as far as the page can read it. The test runs one way at a time;
// with an empty `way` it gets the names of all.
const [way, url, body, redirector, done] = arguments;
const LIMIT_MS = 20000;
const socket = url.replace("http", "ws");

const post = (content, more = {}) =>
  fetch(more.to ?? url, {method: "POST", body, headers: content ? {"content-type": content} : {}, ...more})
    .then(async answer => answer.type === "opaque" ? "sent" : `${answer.status} ${await answer.text()}`);

const over = (address, protocols) => new Promise(resolve => {
  const wire = new WebSocket(address, protocols);
  wire.onopen = () => wire.send(body);
  wire.onmessage = event => { resolve(`message ${event.data}`); wire.close(); };
  wire.onclose = event => resolve(`closed ${event.code}`);
});

const loaded = element => new Promise(resolve => {
  element.onload = () => resolve("loaded");
  element.onerror = () => resolve("error");
  document.documentElement.append(element);
});

const made = (tag, values) => Object.assign(document.createElement(tag), values);

// A form's answer goes to a frame; its first load is that of the empty frame.
async function form(enctype, name, value, action = url, method = "post") {
  const frame = made("iframe", {name: `answer${Math.random()}`});
  await loaded(frame);
  const sent = made("form", {action, method, enctype, target: frame.name});
  sent.append(made("input", {name, value}));
  document.documentElement.append(sent);
  const answered = new Promise(resolve => frame.onload = () => resolve("loaded"));
  sent.submit();
  return await answered;
}

// The body as one field of a form in plain text: NAME=VALUE, with the equals sign inside a string that is ignored.
const plain = action => {
  const first = body.slice(0, -1) + ',{"x":"';
  return form("text/plain", first, '"}]', action);
};

// A beacon gives no answer; the browser lists it when it has been answered or refused.
const beacon = content => new Promise(resolve => {
  new PerformanceObserver(list => {
    if (list.getEntries().some(entry => entry.initiatorType === "beacon")) resolve("sent");
  }).observe({type: "resource"});
  if (!navigator.sendBeacon(url, content)) resolve("refused by the browser");
});

const xhr = content => new Promise(resolve => {
  const request = new XMLHttpRequest();
  request.open("POST", url);
  if (content) request.setRequestHeader("content-type", content);
  request.onload = () => resolve(`${request.status} ${request.responseText}`);
  request.onerror = () => resolve("error");
  request.send(body);
});

const inWorker = () => new Promise(resolve => {
  const code = `onmessage = ({data: [url, body]}) =>
    fetch(url, {method: "POST", body, headers: {"content-type": "application/json"}})
      .then(async answer => postMessage(answer.status + " " + await answer.text()), error => postMessage(String(error)))`;
  const worker = new Worker(URL.createObjectURL(new Blob([code], {type: "text/javascript"})));
  worker.onmessage = event => resolve(event.data);
  worker.onerror = () => resolve("error");
  worker.postMessage([url, body]);
});

const query = `${url}?${encodeURIComponent(body)}`;
const JSON_TYPE = "application/json", PLAIN = "text/plain";
const redirected = `${redirector}?${encodeURIComponent(url)}`;

const ways = {
  "fetch, JSON": () => post(JSON_TYPE),
  "fetch, JSON, with credentials": () => post(JSON_TYPE, {credentials: "include"}),
  "fetch, JSON, with a token": () => post(JSON_TYPE, {headers: {"content-type": JSON_TYPE, authorization: "Bearer x"}}),
  "fetch, JSON, without referrer": () => post(JSON_TYPE, {referrerPolicy: "no-referrer"}),
  "fetch, JSON, redirected": () => post(JSON_TYPE, {to: redirected}),
  "fetch, JSON, in a worker": inWorker,
  "fetch, text": () => post(PLAIN),
  "fetch, text with JSON as parameter": () => post("text/plain; charset=application/json"),
  "fetch, no type": () => post("", {body: new Blob([body])}),
  "fetch, no-cors, text": () => post(PLAIN, {mode: "no-cors"}),
  "fetch, no-cors, JSON": () => post("", {mode: "no-cors", body: new Blob([body], {type: JSON_TYPE})}),
  "fetch, no-cors, text, without referrer": () => post(PLAIN, {mode: "no-cors", referrerPolicy: "no-referrer"}),
  "fetch, no-cors, text, redirected": () => post(PLAIN, {mode: "no-cors", to: redirected}),
  "fetch, no-cors, GET": () => fetch(query, {mode: "no-cors"}).then(() => "sent"),
  "XMLHttpRequest, JSON": () => xhr(JSON_TYPE),
  "XMLHttpRequest, text": () => xhr(),
  "form, text": () => plain(url),
  "form, text, redirected": () => plain(redirected),
  "form, fields": () => form("application/x-www-form-urlencoded", body, ""),
  "form, parts": () => form("multipart/form-data", "json", body),
  "form, GET": () => form("", "json", body, url, "get"),
  "beacon, text": () => beacon(body),
  "beacon, JSON": () => beacon(new Blob([body], {type: JSON_TYPE})),
  "WebSocket": () => over(socket),
  "WebSocket, with a protocol": () => over(socket, ["bearer", "json"]),
  "WebSocket, with a password": () => over(socket.replace("://", "://user:Bearer@")),
  "frame": () => loaded(made("iframe", {src: query})),
  "image": () => loaded(made("img", {src: query})),
  "script": () => loaded(made("script", {src: query})),
};

const tooLate = new Promise(resolve => setTimeout(resolve, LIMIT_MS, "no result in time"));
Promise.race([(async () => way ? await ways[way]() : Object.keys(ways))(), tooLate])
  .then(done, error => done(`error: ${error}`));
