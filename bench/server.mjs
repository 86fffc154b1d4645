// Measures a running `hotcell serve` with the published SDK and with plain HTTP; prints one line
// "name <tab> count <tab> median <tab> p90 <tab> p99 <tab> unit" each. Started by bench/server.
import { request, Agent } from 'node:http'
import { performance } from 'node:perf_hooks'

const { Sandbox } = await import('e2b')
const base = new URL(process.env.E2B_API_URL)
const key = process.env.E2B_API_KEY
const wanted = process.argv.slice(2)
const scale = Number(process.env.BENCH_SCALE ?? 1)
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

const times = (n) => Math.max(3, Math.round(n * scale))
const now = () => performance.now()

function print(name, values, unit = 'ms') {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
  console.log([name, sorted.length, at(0.5).toFixed(2), at(0.9).toFixed(2), at(0.99).toFixed(2), unit].join('\t'))
}

function http(method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const r = request({ host: base.hostname, port: base.port, agent, method, path,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...(body ? { 'Content-Length': Buffer.byteLength(body) } : {}), ...headers } },
      (response) => {
        const pieces = []
        response.on('data', (d) => pieces.push(d)).on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(pieces) })).on('error', reject)
      })
    r.on('error', reject)
    r.end(body)
  })
}

async function create() {
  const r = await http('POST', '/v2/sandboxes', '{"templateID":"base","timeout":600}')
  if (r.status !== 201) throw new Error(`create: ${r.status} ${r.body}`)
  return JSON.parse(r.body)
}

const kill = (id) => http('DELETE', `/sandboxes/${id}`)

/** Time of fn(), n times, one after the other. */
async function sequence(n, fn, after) {
  const values = []
  for (let i = 0; i < n; i++) {
    const start = now()
    const made = await fn(i)
    values.push(now() - start)
    if (after) await after(made)
  }
  return values
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms))

async function interactive() {
  const sandbox = await Sandbox.create({ timeoutMs: 600_000 })
  const r = await sandbox.commands.run('echo ready')
  if (r.stdout !== 'ready\n') throw new Error('not ready')
  return sandbox
}

const measures = {
  // Pauses let the pool refill: a create from the pool. Of those back to back some are cold.
  async create_http() { print('create, plain HTTP, pool', await sequence(times(50), create, async (s) => { await kill(s.sandboxID); await pause(60) })) },
  async create_sdk() { print('create, SDK, pool', await sequence(times(50), () => Sandbox.create(), async (s) => { await s.kill(); await pause(60) })) },
  async create_cold() { print('create, plain HTTP, no pool', await sequence(times(60), create, (s) => kill(s.sandboxID))) },
  async create_row() { print('create, plain HTTP, back to back', await sequence(times(60), create, (s) => kill(s.sandboxID))) },
  async interactive() { print('time to interactive, SDK, one by one', await sequence(times(50), interactive, async (s) => { await s.kill(); await pause(60) })) },
  async staggered() {
    const values = []
    await Promise.all(Array.from({ length: times(40) }, async (_, i) => {
      await pause(i * 50)
      const start = now()
      const s = await interactive()
      values.push(now() - start)
      await s.kill()
    }))
    print('time to interactive, SDK, one each 50 ms', values)
  },
  async burst() {
    await pause(1000)
    const start = now()
    const values = []
    const made = await Promise.all(Array.from({ length: 100 }, async () => {
      const s = await interactive()
      values.push(now() - start)
      return s
    }))
    print('burst of 100, SDK: each interactive after', values)
    print('burst of 100, SDK: all interactive after', [now() - start])
    await Promise.all(made.map((s) => s.kill()))
  },
  async command() {
    const s = await interactive()
    print('command round trip, SDK', await sequence(times(200), () => s.commands.run('true')))
    await s.kill()
  },
  async files() {
    const s = await interactive()
    for (const [name, size, n] of [['1 KiB', 1 << 10, 100], ['1 MiB', 1 << 20, 40], ['100 MiB', 100 << 20, 5]]) {
      const data = new Uint8Array(size).fill(97).buffer
      const write = await sequence(times(n), () => s.files.write('/tmp/f', data))
      const read = await sequence(times(n), () => s.files.read('/tmp/f', { format: 'bytes' }))
      print(`file write ${name}, SDK`, write)
      print(`file read ${name}, SDK`, read)
    }
    await s.kill()
  },
}

for (const [name, fn] of Object.entries(measures)) {
  if (wanted.length && !wanted.includes(name)) continue
  await fn()
}
agent.destroy()
