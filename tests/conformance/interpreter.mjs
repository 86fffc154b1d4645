// What the files of the code interpreter share: one sandbox for many tests, and executions that succeed.
import { before, after } from 'node:test'
import { Sandbox, assert, test } from './harness.mjs'

export const LIMIT_MS = 240_000

/** A sandbox that all tests of a file use, of the template that the SDK asks for by itself. */
export function sharedSandbox(options = {}) {
  const shared = {}
  before(async () => { shared.sandbox = await Sandbox.create({ timeoutMs: 600_000, ...options }) })
  after(async () => { await shared.sandbox?.kill() })
  return shared
}

/** A test with a sandbox of its own. */
export function withInterpreter(name, fn, options = {}) {
  test(name, async (t) => {
    const sandbox = await Sandbox.create({ timeoutMs: 300_000, ...options })
    t.after(() => sandbox.kill().catch(() => {}))
    await fn(sandbox, t)
  }, LIMIT_MS)
}

/** Runs code that must succeed. */
export async function run(sandbox, code, options) {
  const done = await sandbox.runCode(code, options)
  assert.equal(done.error, undefined, `${done.error?.name}: ${done.error?.value}\n${done.error?.traceback}`)
  return done
}

export const stdout = (done) => done.logs.stdout.join('')
export const stderr = (done) => done.logs.stderr.join('')

/** The same structure; numbers may differ in the last digits. */
export function near(got, want, where = '') {
  if (typeof want === 'number' && typeof got === 'number') {
    assert.ok(Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want)), `${where}: ${got}, not ${want}`)
  } else if (Array.isArray(want)) {
    assert.ok(Array.isArray(got), `${where}: no array`)
    assert.equal(got.length, want.length, `${where}: length`)
    want.forEach((w, i) => near(got[i], w, `${where}[${i}]`))
  } else {
    assert.deepEqual(got, want, where)
  }
}
