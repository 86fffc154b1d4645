// Which values are JSON: plain objects and arrays of such, strings, finite numbers, booleans and null, nothing else.
import { Buffer } from 'node:buffer'
import { types } from 'node:util'

const NODES_MAX = 1_000_000
const DEPTH_MAX = 200
const MANY = 10_000 // elements whose keys are not compared
export const JSON_MAX = 8 << 20 // bytes, as docs/interpreter.md says

const { stringify } = JSON
const { getPrototypeOf, getOwnPropertyDescriptor, keys } = Object
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

/** The elements, or null if some are not there or there is more than elements. */
function elementsOf(array) {
  if (array.length < MANY && keys(array).length !== array.length) return null
  for (let i = 0; i < array.length; i++) if (!(i in array)) return null
  return array
}

/** The values of its properties, or null if they are not simply there. */
function valuesOf(object) {
  const names = keys(object)
  if (ownKeys(object).length !== names.length) return null
  const values = []
  for (const name of names) {
    const descriptor = getOwnPropertyDescriptor(object, name)
    if (!('value' in descriptor)) return null
    const { value } = descriptor
    if (name === 'toJSON' && typeof value === 'function') return null
    if (value !== undefined) values.push(value)
  }
  return values
}

function isJson(value, depth, path, budget) {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return isFinite(value)
  if (typeof value !== 'object' || depth > DEPTH_MAX || path.has(value) || !isPlain(value)) return false
  const values = isArray(value) ? elementsOf(value) : valuesOf(value)
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
  try {
    return isJson(value, 0, new Set(), { left: NODES_MAX }) ? jsonText(value) : undefined
  } catch {
    return undefined // a getter among the elements
  }
}
