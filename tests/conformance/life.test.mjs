// Pause, resume, auto-pause, auto-resume, and the ports of a sandbox.
import { Sandbox, api, assert, sandboxFetch, test, until, withSandbox } from './harness.mjs'

const pause = (s) => (s.pause ? s.pause() : s.betaPause())

withSandbox('a pause keeps files, processes and memory', async (sandbox) => {
  await sandbox.files.write('kept', 'file')
  const counter = await sandbox.commands.run('i=0; while true; do i=$((i+1)); echo $i > /tmp/count; sleep 0.05; done',
    { background: true, timeoutMs: 0 })
  await until(() => sandbox.files.exists('/tmp/count'), 'the first count')
  await pause(sandbox)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'paused')
  assert.equal((await sandboxFetch(sandbox, 49983, '/health')).status, 502)
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await again.isRunning(), true)
  assert.equal(await again.files.read('kept'), 'file')
  assert.equal((await again.commands.run(`kill -0 ${counter.pid} && echo alive`)).stdout, 'alive\n')
  const before = Number(await again.files.read('/tmp/count'))
  await until(async () => Number(await again.files.read('/tmp/count')) > before, 'the count going on')
})

withSandbox('a second pause changes nothing', async (sandbox) => {
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/pause`, {})).status, 204)
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/pause`, {})).status, 409)
  assert.equal((await api('POST', '/sandboxes/inosuch/pause', {})).status, 404)
  const paused = (await api('GET', '/v2/sandboxes?state=paused&limit=100')).json
  assert.ok(paused.some((s) => s.sandboxID === sandbox.sandboxId))
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/connect`, { timeout: 60 })).status, 201)
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/connect`, { timeout: 60 })).status, 200)
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/resume`, { timeout: 60 })).status, 409)
})

withSandbox('a paused sandbox can be killed', async (sandbox) => {
  await pause(sandbox)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
})

withSandbox('without memory a pause is a restart: files stay, processes end', async (sandbox) => {
  const boot = async (s) => (await s.commands.run('cat /proc/sys/kernel/random/boot_id')).stdout
  const first = await boot(sandbox)
  await sandbox.files.write('kept', 'file')
  await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/pause`, { memory: false })).status, 204)
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await again.files.read('kept'), 'file')
  assert.notEqual(await boot(again), first)
  assert.equal((await again.commands.list()).length, 0)
})

test('a life may end in a pause, and traffic may wake it', async (t) => {
  const made = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 2, autoPause: true, autoResume: { enabled: true } })
  assert.equal(made.status, 201)
  const id = made.json.sandboxID
  t.after(() => api('DELETE', `/sandboxes/${id}`))
  const state = async () => (await api('GET', `/sandboxes/${id}`)).json.state
  await until(async () => (await state()) === 'paused', 'the pause')
  const sandbox = { sandboxId: id }
  assert.equal((await sandboxFetch(sandbox, 49983, '/envs')).status, 401)
  assert.equal(await state(), 'paused')
  const r = await sandboxFetch(sandbox, 49983, '/envs', { headers: { 'X-Access-Token': made.json.envdAccessToken } })
  assert.equal(r.status, 200)
  assert.equal(await state(), 'running')
})

// ---- ports ----

const server = (address) => `python3 -u -c "
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = ('%s %s %s' % (self.path, self.headers.get('Host'), self.headers.get('X-Mine'))).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_POST(self):
        n = int(self.headers.get('Content-Length') or 0)
        total = 0
        if self.headers.get('Transfer-Encoding') == 'chunked':
            while True:
                size = int(self.rfile.readline(), 16)
                data = self.rfile.read(size); self.rfile.readline(); total += size
                if not size: break
        else:
            while total < n: total += len(self.rfile.read(min(65536, n - total)))
        body = str(total).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(('${address}', 8000), H).serve_forever()"`

for (const address of ['127.0.0.1', '0.0.0.0'])
  withSandbox(`a server on ${address} is reached by headers and by name`, async (sandbox) => {
    await sandbox.commands.run(server(address), { background: true, timeoutMs: 0 })
    const r = await until(async () => {
      const r = await sandboxFetch(sandbox, 8000, '/a%20b?c=d', { headers: { 'X-Mine': 'yes' } })
      return r.status === 200 && r
    }, 'the server')
    assert.match(await r.text(), /^\/a%20b\?c=d \S+ yes$/)
    const { request } = await import('node:http')
    const named = await new Promise((resolve, reject) => {
      const { hostname, port } = new URL(process.env.E2B_API_URL)
      request({ hostname, port, path: '/named', headers: { Host: `8000-${sandbox.sandboxId}.example.test` } }, (response) => {
        let text = ''
        response.on('data', (d) => { text += d }).on('end', () => resolve({ status: response.statusCode, text }))
      }).on('error', reject).end()
    })
    assert.equal(named.status, 200)
    assert.match(named.text, /^\/named 8000-/)
  })

withSandbox('big bodies stream through', async (sandbox) => {
  await sandbox.commands.run(server('127.0.0.1'), { background: true, timeoutMs: 0 })
  await until(async () => (await sandboxFetch(sandbox, 8000, '/')).status === 200, 'the server')
  const size = 20_000_000
  const r = await sandboxFetch(sandbox, 8000, '/', { method: 'POST', body: 'x'.repeat(size) })
  assert.equal(await r.text(), String(size))
})

withSandbox('closed ports and dead sandboxes are 502, in their forms', async (sandbox) => {
  const closed = await sandboxFetch(sandbox, 8123, '/')
  assert.deepEqual(await closed.json(),
    { sandboxId: sandbox.sandboxId, message: 'The sandbox is running but port is not open', port: 8123, code: 502 })
  await sandbox.kill()
  const dead = await sandboxFetch(sandbox, 8123, '/')
  assert.equal(dead.status, 502)
  assert.deepEqual(await dead.json(), { sandboxId: sandbox.sandboxId, message: 'The sandbox was not found', code: 502 })
})

test('half a pair of headers is refused', async () => {
  const r = await fetch(process.env.E2B_API_URL + '/', { headers: { 'E2b-Sandbox-Id': 'iabc' } })
  assert.equal(r.status, 400)
})

test('a sandbox without public traffic wants its token', async (t) => {
  const made = await api('POST', '/v2/sandboxes', { templateID: 'base', network: { allowPublicTraffic: false, maskRequestHost: 'inner:${PORT}' } })
  const sandbox = { sandboxId: made.json.sandboxID }
  t.after(() => api('DELETE', `/sandboxes/${sandbox.sandboxId}`))
  const live = await Sandbox.connect(sandbox.sandboxId)
  await live.commands.run(server('127.0.0.1'), { background: true, timeoutMs: 0 })
  const refused = await sandboxFetch(sandbox, 8000, '/')
  assert.equal(refused.status, 403)
  assert.equal((await refused.json()).code, 403)
  const headers = { 'E2b-Traffic-Access-Token': made.json.trafficAccessToken }
  const r = await until(async () => {
    const r = await sandboxFetch(sandbox, 8000, '/', { headers })
    return r.status === 200 && r
  }, 'the server')
  assert.equal(await r.text(), '/ inner:8000 None')
})

withSandbox('a WebSocket goes through', async (sandbox) => {
  await sandbox.commands.run(`python3 -u -c "
import socket, hashlib, base64
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', 9000)); s.listen()
while True:
    c, _ = s.accept(); head = b''
    while b'\\r\\n\\r\\n' not in head:
        d = c.recv(4096)
        if not d: break
        head += d
    key = [l.split(b': ')[1] for l in head.split(b'\\r\\n') if l.lower().startswith(b'sec-websocket-key')]
    if not key: c.close(); continue
    accept = base64.b64encode(hashlib.sha1(key[0] + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
    c.send(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + b'\\r\\n\\r\\n')
    f = c.recv(4096); n = f[1] & 127; m = f[2:6]
    text = bytes(b ^ m[i % 4] for i, b in enumerate(f[6:6 + n]))
    c.send(bytes([0x81, len(text) + 5]) + b'echo ' + text)
"`, { background: true, timeoutMs: 0 })
  const { connect } = await import('node:net')
  const { hostname, port } = new URL(process.env.E2B_API_URL)
  const talk = () => new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let got = Buffer.alloc(0), upgraded = false
    socket.on('data', (d) => {
      got = Buffer.concat([got, d])
      const end = got.indexOf('\r\n\r\n')
      if (!upgraded && end >= 0) {
        if (!got.toString().startsWith('HTTP/1.1 101')) { socket.destroy(); resolve(''); return }
        upgraded = true
        got = got.subarray(end + 4)
        const mask = Buffer.from([1, 2, 3, 4]), text = Buffer.from('hi')
        socket.write(Buffer.concat([Buffer.from([0x81, 0x82]), mask, Buffer.from([text[0] ^ 1, text[1] ^ 2])]))
      }
      if (upgraded && got.length >= 9) { socket.destroy(); resolve(got.subarray(2, 9).toString()) }
    }).on('error', () => resolve('')).on('close', () => resolve(''))
    socket.write(`GET / HTTP/1.1\r\nHost: 9000-${sandbox.sandboxId}.example.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n')
  })
  assert.equal(await until(talk, 'the echo'), 'echo hi')
})
