// Which values are JSON: plain objects and arrays of such, strings, finite numbers, booleans and null, nothing else.
import { Buffer } from 'node:buffer'
import { types } from 'node:util'

const NODES_MAX = 1_000_000
const DEPTH_MAX = 200
export const JSON_MAX = 8 << 20 // bytes, as docs/interpreter.md says

const { stringify } = JSON
const { getPrototypeOf, getOwnPropertyDescriptors } = Object
const { isProxy } = types
const { ownKeys } = Reflect
const { isArray } = Array
const { isFinite } = Number
const { byteLength } = Buffer

function isPlain(value) {
  if (isProxy(value)) return false
  const prototype = getPrototypeOf(value)
  if (isArray(value)) return prototype === Array.prototype
  return prototype === null || prototype === Object.prototype
}

/** Its values, or null if they are not simply there. */
function valuesOf(value) {
  const values = []
  const descriptors = getOwnPropertyDescriptors(value)
  for (const key of ownKeys(descriptors)) {
    const descriptor = descriptors[key]
    if (isArray(value) && key === 'length') continue
    if (typeof key === 'symbol' || !descriptor.enumerable || !('value' in descriptor)) return null
    if (key === 'toJSON' && typeof descriptor.value === 'function') return null
    if (descriptor.value !== undefined || isArray(value)) values.push(descriptor.value)
  }
  return isArray(value) && values.length !== value.length ? null : values
}

function isJson(value, depth, path, budget) {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return isFinite(value)
  if (typeof value !== 'object' || depth > DEPTH_MAX || path.has(value) || !isPlain(value)) return false
  const values = valuesOf(value)
  if (!values || (budget.left -= values.length) < 0) return false
  path.add(value)
  const all = values.every((item) => isJson(item, depth + 1, path, budget))
  path.delete(value)
  return all
}

/** The text of what can be parsed again, bounded; undefined if it is too large or not JSON at all. */
export function jsonText(value) {
  let text
  try {
    text = stringify(value)
  } catch {
    return undefined
  }
  return text !== undefined && byteLength(text) <= JSON_MAX ? text : undefined
}

/** JSON of an object or array that is nothing but JSON, or undefined. */
export function plainJson(value) {
  if (value === null || typeof value !== 'object' || !isPlain(value)) return undefined
  if (isArray(value) && value.length > NODES_MAX) return undefined
  return isJson(value, 0, new Set(), { left: NODES_MAX }) ? jsonText(value) : undefined
}
