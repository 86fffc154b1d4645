// HTTPS and host names: the SDK with nothing but E2B_DOMAIN, and what getHost() names.
import http2 from 'node:http2'
import https from 'node:https'
import { Agent, WebSocket, fetch as fetch2 } from 'undici'
import { Sandbox, api, assert, test, until, withSandbox } from './harness.mjs'

const domain = process.env.E2B_DOMAIN

const SERVER = `python3 -u -c "
import http.server
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        names = ('Host', 'X-Mine', 'E2b-Traffic-Access-Token')
        body = ' '.join([self.path] + [str(self.headers.get(n)) for n in names]).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_POST(self):
        n = int(self.headers.get('Content-Length') or 0)
        self.send_response(200); self.send_header('Content-Length', str(n)); self.end_headers()
        while n: d = self.rfile.read(min(65536, n)); self.wfile.write(d); n -= len(d)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), H).serve_forever()"`

async function serving(sandbox, init = {}) {
  await sandbox.commands.run(SERVER, { background: true, timeoutMs: 0 })
  const url = `https://${sandbox.getHost(8000)}`
  await until(async () => (await fetch(url, init)).status === 200, 'the server')
  return url
}

/** One request by node's http2: {status, text}. */
const overHttp2 = (url, headers = {}, body) => new Promise((resolve, reject) => {
  const session = http2.connect(url)
  session.on('error', reject)
  const length = body ? { 'content-length': body.length } : {}
  const stream = session.request({ ':path': '/', ':method': body ? 'POST' : 'GET', ...length, ...headers })
  let status, text = ''
  stream.setEncoding('utf8')
  stream.on('response', (h) => { status = h[':status'] })
  stream.on('data', (d) => { text += d }).on('error', reject)
  stream.on('end', () => { session.close(); resolve({ status, text }) })
  stream.end(body)
})

withSandbox('the SDK works with a domain alone', async (sandbox) => {
  assert.equal(process.env.E2B_API_URL, undefined)
  assert.equal(sandbox.sandboxDomain, domain)
  assert.equal(sandbox.getHost(3000), `3000-${sandbox.sandboxId}.${domain}`)
  assert.equal(await sandbox.isRunning(), true)
  assert.equal((await sandbox.commands.run('echo out; echo err >&2')).stdout, 'out\n')
  const text = 'ä'.repeat(500_000)
  await sandbox.files.write('/tmp/big', text)
  assert.equal(await sandbox.files.read('/tmp/big'), text)
  const events = []
  const watch = await sandbox.files.watchDir('/tmp', (e) => events.push(e.name))
  await sandbox.files.write('/tmp/seen', 'x')
  await until(() => events.includes('seen'), 'the event')
  await watch.stop()
  const many = await Promise.all(Array.from({ length: 20 }, (_, i) => sandbox.commands.run(`echo ${i}`)))
  assert.deepEqual(many.map((r) => r.stdout), Array.from({ length: 20 }, (_, i) => `${i}\n`))
  const list = await Sandbox.list().nextItems()
  assert.ok(list.some((s) => s.sandboxId === sandbox.sandboxId))
})

withSandbox('signed URLs name their sandbox', async (sandbox) => {
  const up = new URL(await sandbox.uploadUrl('/tmp/signed', { useSignatureExpiration: 60 }))
  assert.equal(up.protocol, 'https:')
  const form = new FormData()
  form.append('file', new Blob(['signed']), 'signed')
  assert.equal((await fetch(up, { method: 'POST', body: form })).status, 200)
  const down = await sandbox.downloadUrl('/tmp/signed', { useSignatureExpiration: 60 })
  assert.equal(await (await fetch(down)).text(), 'signed')
  assert.equal((await fetch(down.replace(/signature=v1_./, 'signature=v1_~'))).status, 401)
})

withSandbox('a port by its host name: HTTP/1.1 and HTTP/2', async (sandbox) => {
  const url = await serving(sandbox)
  const host = sandbox.getHost(8000)
  const first = await fetch(`${url}/a%20b?c=d`, { headers: { 'X-Mine': 'yes' } })
  assert.equal(await first.text(), `/a%20b?c=d ${host} yes None`)
  assert.deepEqual(await overHttp2(url, { ':path': '/two', 'x-mine': 'h2' }),
    { status: 200, text: `/two ${host} h2 None` })
  const body = 'y'.repeat(3_000_000)
  assert.ok((await overHttp2(url, {}, body)).text === body)
  assert.ok(await (await fetch(url, { method: 'POST', body })).text() === body)
  const both = new Agent({ allowH2: true })
  const texts = await Promise.all(Array.from({ length: 30 }, async (_, i) =>
    (await fetch2(`${url}/${i}`, { dispatcher: both })).text()))
  await both.close()
  assert.deepEqual(texts, texts.map((_, i) => `/${i} ${host} None None`))
})

withSandbox('names that lead nowhere are 502, in their forms', async (sandbox) => {
  const closed = await fetch(`https://${sandbox.getHost(8123)}`)
  assert.equal(closed.status, 502)
  assert.deepEqual(await closed.json(),
    { sandboxId: sandbox.sandboxId, message: 'The sandbox is running but port is not open', port: 8123, code: 502 })
  const url = `https://${sandbox.getHost(3000)}`
  await sandbox.kill()
  const dead = { sandboxId: sandbox.sandboxId, message: 'The sandbox was not found', code: 502 }
  assert.deepEqual(await (await fetch(url)).json(), dead)
  const over = await overHttp2(url)
  assert.deepEqual({ ...over, text: JSON.parse(over.text) }, { status: 502, text: dead })
})

withSandbox('a header of another sandbox does not change what the name says', async (sandbox) => {
  const url = await serving(sandbox)
  const other = { 'E2b-Sandbox-Id': 'iother', 'E2b-Sandbox-Port': '1' }
  assert.equal((await fetch(url, { headers: other })).status, 200)
})

test('without public traffic, over https', async (t) => {
  const sandbox = await Sandbox.create('base', { timeoutMs: 60_000, network: { allowPublicTraffic: false } })
  t.after(() => sandbox.kill().catch(() => {}))
  const token = sandbox.trafficAccessToken
  const url = await serving(sandbox, { headers: { 'E2b-Traffic-Access-Token': token } })
  for (const headers of [{}, { 'e2b-traffic-access-token': token.slice(1) }]) {
    assert.equal((await fetch(url, { headers })).status, 403)
    assert.equal((await overHttp2(url, headers)).status, 403)
  }
  const allowed = await overHttp2(url, { 'e2b-traffic-access-token': token })
  assert.deepEqual(allowed, { status: 200, text: `/ ${sandbox.getHost(8000)} None None` })
})

test('the host name that the guest sees can be another', async (t) => {
  const made = await api('POST', '/v2/sandboxes', { templateID: 'base', network: { maskRequestHost: 'inner.example:${PORT}' } })
  assert.equal(made.status, 201, made.text)
  t.after(() => api('DELETE', `/sandboxes/${made.json.sandboxID}`))
  const url = await serving(await Sandbox.connect(made.json.sandboxID))
  assert.equal(await (await fetch(url)).text(), '/ inner.example:8000 None None')
  assert.equal((await overHttp2(url)).text, '/ inner.example:8000 None None')
})

test('a request by https wakes a paused sandbox', async (t) => {
  const made = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 60, autoPause: true, autoResume: { enabled: true } })
  assert.equal(made.status, 201, made.text)
  const id = made.json.sandboxID
  t.after(() => api('DELETE', `/sandboxes/${id}`))
  const url = await serving(await Sandbox.connect(id))
  for (const request of [async () => (await fetch(url)).status, async () => (await overHttp2(url)).status]) {
    assert.equal((await api('POST', `/sandboxes/${id}/pause`, {})).status, 204)
    assert.equal(await request(), 200)
    assert.equal((await api('GET', `/sandboxes/${id}`)).json.state, 'running')
  }
})

const ECHO = `python3 -u -c "
import socket, hashlib, base64, threading
def talk(c):
    head = b''
    while b'\\r\\n\\r\\n' not in head:
        d = c.recv(4096)
        if not d: return
        head += d
    key = [l.split(b': ')[1] for l in head.split(b'\\r\\n') if l.lower().startswith(b'sec-websocket-key')]
    if not key: c.close(); return
    accept = base64.b64encode(hashlib.sha1(key[0] + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
    c.send(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + b'\\r\\n\\r\\n')
    f = c.makefile('rb')
    while True:
        h = f.read(2)
        if len(h) < 2 or h[0] & 15 == 8: c.close(); return
        m = f.read(4); b = bytes(x ^ m[i % 4] for i, x in enumerate(f.read(h[1] & 127)))
        c.send(bytes([0x81, len(b) + 5]) + b'echo ' + b)
s = socket.socket(); s.bind(('127.0.0.1', 9000)); s.listen()
while True: threading.Thread(target=talk, args=(s.accept()[0],)).start()
"`

withSandbox('a WebSocket through wss', async (sandbox) => {
  await sandbox.commands.run(ECHO, { background: true, timeoutMs: 0 })
  const talk = () => new Promise((resolve) => {
    const socket = new WebSocket(`wss://${sandbox.getHost(9000)}/path`)
    const got = []
    socket.onopen = () => socket.send('one')
    socket.onmessage = (m) => {
      got.push(m.data)
      if (got.length === 1) socket.send('two')
      else { socket.close(); resolve(got) }
    }
    socket.onerror = () => resolve(null)
  })
  assert.deepEqual(await until(talk, 'the echo'), ['echo one', 'echo two'])
})

test('plain HTTP on the TLS port is refused', async () => {
  const [name, port] = domain.split(':')
  await assert.rejects(fetch(`http://${name}:${port}/health`))
})

test('HTTP/1.1 alone is enough for a client', async () => {
  const [, port] = domain.split(':')
  const text = await new Promise((resolve, reject) => {
    https.get({ host: '127.0.0.1', port, servername: `api.${domain.split(':')[0]}`, path: '/health', ALPNProtocols: ['http/1.1'], agent: false },
      (r) => { r.resume(); resolve(`${r.httpVersion} ${r.statusCode}`) }).on('error', reject)
  })
  assert.equal(text, '1.1 204')
})
