// Variables of the environment: of the context, and of one execution.
import process from 'node:process'
import { clearMap, forEachOf, hasIn, setIn, slice } from './private.mjs'

const { env } = process

const before = new Map() // what `with` has hidden; undefined = was not there

function split(text) {
  let at = 0
  while (text[at] !== '=') at++
  return { key: slice(text, 0, at), value: slice(text, at + 1) }
}

function put(key, value) {
  if (value === undefined) delete env[key]
  else env[key] = value
}

/** For good. While an execution has a value of its own, that one stays. */
export function setVariable(text) {
  const { key, value } = split(text)
  if (hasIn(before, key)) setIn(before, key, value)
  else put(key, value)
}

/** For the next execution. */
export function setForExecution(text) {
  const { key, value } = split(text)
  if (!hasIn(before, key)) setIn(before, key, env[key])
  put(key, value)
}

export function restoreVariables() {
  forEachOf(before, (value, key) => put(key, value))
  clearMap(before)
}
