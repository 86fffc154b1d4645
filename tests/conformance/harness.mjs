// What every file needs: the SDK of the version under test, and sandboxes that end with their test.
import { test as nodeTest } from 'node:test'
import assert from 'node:assert/strict'

export const SDK = process.env.HOTCELL_SDK ?? 'e2b'
export const sdk = await import(SDK)
export const { Sandbox } = sdk
export const isNew = SDK === 'e2b'
export { assert }

/** A test with a time limit: a bound, also for a machine that stands still at times. */
export function test(name, fn, timeout = 240_000) {
  nodeTest(name, { timeout }, fn)
}

/** A test with a sandbox of its own, which is killed in the end. */
export function withSandbox(name, fn, options = {}) {
  test(name, async (t) => {
    const sandbox = await Sandbox.create('base', { timeoutMs: 300_000, ...options })
    t.after(() => sandbox.kill().catch(() => {}))
    await fn(sandbox, t)
  })
}

/** Waits until fn() is truthy, at most so long; gives its value. */
export async function until(fn, what, limitMs = 90_000) {
  const end = Date.now() + limitMs
  for (;;) {
    const value = await fn()
    if (value) return value
    if (Date.now() > end) assert.fail(`${what} did not happen within ${limitMs} ms`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

export const rejectsAs = (promise, name, pattern = /.?/) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.constructor.name, name, `${error.constructor.name}: ${error.message}`)
    assert.match(error.message, pattern)
    return true
  })

const base = process.env.E2B_API_URL ?? `https://api.${process.env.E2B_DOMAIN}`

/** A plain request to the control plane. */
export async function api(method, path, body, headers = {}) {
  const response = await fetch(base + path, {
    method,
    headers: { 'X-API-Key': process.env.E2B_API_KEY, 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  let json
  try { json = JSON.parse(text) } catch { /* not JSON */ }
  return { status: response.status, headers: response.headers, text, json }
}

/** A plain request to a port of a sandbox, by headers. */
export function sandboxFetch(sandbox, port, path, init = {}) {
  return fetch(base + path, {
    ...init,
    headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': String(port), ...init.headers },
  })
}
