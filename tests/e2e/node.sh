# needs: node
# status: 0
n() { node "$@"; }
## start
n -e 'console.log("hello", process.version, process.platform, process.argv.length, 0.1 + 0.2)'; echo 'console.log(require("fs").readFileSync(0, "utf8").toUpperCase())' > s.js; echo stdin | n s.js; n -e 'process.exit(3)' || echo $?; n -e 'throw new Error("x")' 2>/dev/null || echo $?; n -p 'os.cpus().length > 0 && os.totalmem() > 0 && os.hostname().length > 0' ; echo '1+1' | n -p; n -e 'process.kill(process.pid, "SIGKILL")' || echo $?
## http server and client
cat > t.js <<'X'
const http = require("http"), net = require("net");
const s = http.createServer((q, r) => { let b = ""; q.on("data", d => b += d).on("end", () => { r.setHeader("X-A", "1"); r.end(q.method + " " + q.url + " " + b.length); }); });
s.listen(0, "127.0.0.1", async () => {
  const p = s.address().port; const get = (path, body) => new Promise((ok, no) => { const r = http.request({ port: p, host: "localhost", family: 4, path, method: body ? "POST" : "GET" }, a => { let t = ""; a.on("data", d => t += d).on("end", () => ok(a.statusCode + " " + t)); }); r.on("error", no); r.end(body); });
  console.log(await get("/a"), await get("/b", "x".repeat(1000000))); console.log((await Promise.all([...Array(50).keys()].map(i => get("/" + i)))).at(-1));
  if (globalThis.fetch) { const r = await fetch(`http://127.0.0.1:${p}/f`); console.log(r.status, await r.text()); } else console.log(200, "GET /f 0");
  s.close(); net.connect(1, "127.0.0.1").on("error", e => console.log(e.code));
  const u = net.createServer(c => c.pipe(c)).listen("./sock", () => { const c = net.connect("./sock"); c.write("unix"); c.on("data", d => { console.log(String(d)); c.end(); u.close(); }); });
});
const d = require("dgram").createSocket("udp4"); d.on("message", m => { console.log(String(m)); d.close(); }); d.bind(0, "127.0.0.1", () => d.send("udp", d.address().port, "127.0.0.1"));
X
n t.js | sort
## worker threads
cat > t.js <<'X'
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
if (isMainThread) { const sab = new SharedArrayBuffer(4), a = new Int32Array(sab); let done = 0; for (let i = 0; i < 4; i++) new Worker(__filename, { workerData: { i, sab } }).on("message", m => {}).on("exit", c => { if (++done == 4) console.log(a[0], c); }); }
else { const a = new Int32Array(workerData.sab); for (let k = 0; k < 1000; k++) Atomics.add(a, 0, workerData.i); parentPort.postMessage("ok"); }
X
n t.js
## child processes
cat > t.js <<'X'
const c = require("child_process");
console.log(String(c.execSync("echo sync")), c.spawnSync("sh", ["-c", "exit 4"]).status); if (process.argv[2] == "kid") { process.on("message", m => { process.send(m * 2); process.disconnect(); }); }
else { const f = c.fork(__filename, ["kid"], { silent: true }); f.on("message", m => console.log("ipc", m)); f.send(21); f.on("exit", x => { console.log("exit", x); const k = c.spawn("sleep", ["9"]); k.on("exit", (a, b) => { console.log(a, b); const p = c.spawn("cat"); let n = 0; p.stdout.on("data", d => n += d.length).on("end", () => { console.log(n); c.exec("nosuch", e => { console.log(e.code); c.execFile("/bin/echo", ["a"], (e, o) => console.log(o)); }); }); p.stdin.end(Buffer.alloc(1000000)); }); k.kill(); }); }
X
n t.js
## streams and files
cat > t.js <<'X'
const fs = require("fs"), zlib = require("zlib"), { pipeline } = require("stream/promises"), crypto = require("crypto"), path = require("path");
(async () => { fs.writeFileSync("big", Buffer.alloc(3e6, "abc")); await pipeline(fs.createReadStream("big"), zlib.createGzip(), fs.createWriteStream("big.gz")); await pipeline(fs.createReadStream("big.gz"), zlib.createGunzip(), fs.createWriteStream("back")); console.log(fs.readFileSync("big").equals(fs.readFileSync("back"))); console.log(crypto.createHash("sha1").update(fs.readFileSync("big")).digest("hex")); fs.mkdirSync("a/b/c", { recursive: true }); fs.symlinkSync("a", "l"); console.log(fs.readdirSync("."), fs.realpathSync("l/b"), fs.statSync("big").size); await fs.promises.rm("a", { recursive: true }); fs.copyFileSync("big", "c2"); fs.renameSync("c2", "c3"); fs.appendFileSync("c3", "x"); fs.truncateSync("c3", 5); console.log(fs.readFileSync("c3", "utf8")); try { fs.readFileSync("none") } catch (e) { console.log(e.code) } for await (const l of require("readline").createInterface({ input: fs.createReadStream("t.js") })) { console.log(l.length > 5); break; } const h = await fs.promises.open("c3", "r+"); await h.write("YY", 1); await h.sync(); await h.close(); console.log(fs.readFileSync("c3", "utf8"), fs.existsSync("/nope"), fs.accessSync(".")); console.log(fs.mkdtempSync("tmp-").length, fs.opendirSync(".").readSync() != null); })();
X
n t.js
## watch and timers
cat > t.js <<'X'
const fs = require("fs"); fs.mkdirSync("w"); process.on("exit", () => console.log("bye"));
setImmediate(() => { console.log("immediate"); watch(); }); process.nextTick(() => console.log("tick")); Promise.resolve().then(() => console.log("micro"));
function watch() { const w = fs.watch("w", (e, f) => { console.log(e, f); w.close(); ticks(); }); setTimeout(() => fs.writeFileSync("w/new", "1"), 50); }
function ticks() { let n = 0; const t = Date.now(), i = setInterval(() => { if (++n == 5) { clearInterval(i); console.log("ticks", Date.now() - t >= 95); signalled(); } }, 20); }
function signalled() { process.once("SIGUSR2", () => { console.log("usr2"); poll(); }); const alive = setInterval(() => {}, 1000); process.once("SIGUSR2", () => clearInterval(alive)); process.kill(process.pid, "SIGUSR2"); }
function poll() { fs.watchFile("w/f", { interval: 30 }, (a, b) => { console.log("size", a.size); fs.unwatchFile("w/f"); }); setTimeout(() => fs.writeFileSync("w/f", "12345"), 60); }
X
n t.js
## dns and os
n -e 'require("dns").lookup("localhost", { family: 4 }, (e, a) => console.log(e && e.code, a)); const i = require("os").networkInterfaces(); console.log(i.lo && i.lo[0].address); console.log(require("os").tmpdir(), require("os").EOL.length, process.uptime() > 0, process.memoryUsage().rss > 1e6, process.umask() >= 0)'
## webassembly and regular expressions
n -e 'const b = new Uint8Array([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]); WebAssembly.instantiate(b).then(m => console.log(m.instance.exports.add(2, 40))); let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7; console.log(s, "aXbX".replace(/x/gi, "-"), [3,1,2].sort(), new Intl.NumberFormat("en").format(1234567.8))'
## npm run
# needs: npm
# timeout: 90
echo '{"name":"p","version":"1.0.0","scripts":{"hi":"echo script ran && node -p 6*7","prehi":"echo before","bad":"exit 3"}}' > package.json; npm --version; npm run --silent hi; npm run --silent bad > /dev/null 2>&1; echo $?; npm pkg get name
