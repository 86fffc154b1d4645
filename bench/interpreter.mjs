// Measures the code interpreter of a running `hotcell serve` with the published SDK. Started by bench/interpreter: reads
// lines "NAME COUNT" and answers each with a line of JSON, an array of milliseconds.
import { createInterface } from 'node:readline'
import { performance } from 'node:perf_hooks'

const { Sandbox } = await import('@e2b/code-interpreter')
const CHART = `import matplotlib.pyplot as plt
plt.plot([1, 4, 9, 16], label='a'); plt.title('T'); plt.legend(); plt.show()`

const create = () => Sandbox.create({ timeoutMs: 600_000 })
let kept

/** Runs code and looks at what came back: what fails fast is no measurement. */
async function run(sandbox, code, good) {
  const done = await sandbox.runCode(code, { timeoutMs: 300_000 })
  if (done.error || !good(done)) throw new Error(`${code}: ${JSON.stringify(done).slice(0, 500)}`)
}

const two = (sandbox) => run(sandbox, '1 + 1', (d) => d.text === '2')
const pandas = (sandbox) => run(sandbox, 'import pandas; pandas.DataFrame({"a": [1, 2]})', (d) => d.results[0].data.a.length === 2)
const chart = (sandbox) => run(sandbox, CHART, (d) => d.results[0].png && d.results[0].chart.type === 'line')

async function timed(fn) {
  const start = performance.now()
  const made = await fn()
  return [performance.now() - start, made]
}

/** A new sandbox for each; its creation is not counted. */
const inNew = (fn) => async () => {
  const sandbox = await create()
  try {
    return (await timed(() => fn(sandbox)))[0]
  } finally {
    await sandbox.kill()
  }
}

const inKept = (fn) => async () => {
  if (!kept) {
    kept = await create()
    await chart(kept)
  }
  return (await timed(() => fn(kept)))[0]
}

const one = {
  first: inNew(two),
  async create_first() {
    const [ms, sandbox] = await timed(async () => { const s = await create(); await two(s); return s })
    await sandbox.kill()
    return ms
  },
  first_pandas: inNew(pandas),
  first_chart: inNew(chart),
  warm: inKept(two),
  warm_pandas: inKept(pandas),
  warm_chart: inKept(chart),
}

/** Many sandboxes that are made and execute at the same time, and then again: each latency, last the time of all. */
async function many(count) {
  const sandboxes = []
  const round = async (fn) => {
    const [all, each] = await timed(() => Promise.all(Array.from({ length: count }, async (_, i) => (await timed(() => fn(i)))[0])))
    return [...each, all]
  }
  try {
    return [await round(async (i) => { sandboxes[i] = await create(); await two(sandboxes[i]) }), await round((i) => two(sandboxes[i]))]
  } finally {
    await Promise.all(sandboxes.map((s) => s?.kill()))
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, count] = line.split(' ')
  if (name === 'many') {
    console.log(JSON.stringify(await many(Number(count))))
    continue
  }
  const values = []
  for (let i = 0; i < Number(count); i++) values.push(await one[name]())
  console.log(JSON.stringify(values))
}
await kept?.kill()
