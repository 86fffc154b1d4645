// Errors for people: positions are those of the code as it was sent, the driver's own frames are not shown.
import { inspect, types } from 'node:util'

const PROGRAMS_MAX = 1000 // whose positions are known
const OWN = `${import.meta.dirname}/`

const programs = new Map() // file: original(line, column)

/** original(line, column) gives { line, column } of the code as it was sent. */
export function addProgram(file, original) {
  programs.set(file, original)
  if (programs.size > PROGRAMS_MAX) programs.delete(programs.keys().next().value)
}

const POSITION = /(<cell \d+>):(\d+):(\d+)/g

function place(text) {
  return text.replace(POSITION, (whole, file, line, column) => {
    const original = programs.get(file)?.(Number(line), Number(column))
    return original ? `${file}:${original.line}:${original.column}` : whole
  })
}

function heading(error) {
  try {
    return Error.prototype.toString.call(error)
  } catch {
    return 'Error'
  }
}

/** As V8 writes it, without the driver's frames. What has called the driver is left out, too. */
function formatStack(error, frames) {
  const lines = []
  let isInside = false
  for (const frame of frames) {
    const text = String(frame)
    if (text.includes(OWN)) {
      if (isInside) break
      continue
    }
    isInside ||= text.includes('<cell ')
    lines.push(`\n    at ${place(text)}`)
  }
  return heading(error) + lines.join('')
}

export function installTraces() {
  Error.prepareStackTrace = formatStack
}

/** A program that cannot be parsed; there is no stack. */
export class SyntaxProblem extends SyntaxError {
  constructor(message, source, file, { line, column }) {
    super(message)
    const text = source.split(/\r\n|[\n\r\u2028\u2029]/)[line - 1] ?? ''
    const pointer = text.slice(0, column - 1).replace(/[^\t]/g, ' ') + '^'
    const stack = `${file}:${line}\n${text.length < 500 ? `${text}\n${pointer}\n` : ''}\nSyntaxError: ${message}`
    Object.defineProperties(this, {
      stack: { __proto__: null, value: stack, writable: true, configurable: true },
      constructor: { __proto__: null, value: SyntaxError },
      name: { __proto__: null, value: 'SyntaxError' },
    })
  }
}

function attempt(get, otherwise) {
  try {
    return get()
  } catch {
    return otherwise
  }
}

function show(value) {
  if (typeof value === 'string') return value
  return attempt(() => inspect(value, { __proto__: null, colors: false }), Object.prototype.toString.call(value))
}

/** inspect() puts errors without a stack into brackets. */
const plainTrace = (error) => attempt(() => `${error.stack || heading(error)}`, '')

function nameOf(error) {
  const name = attempt(() => error.name, undefined)
  const maker = attempt(() => error.constructor?.name, undefined)
  if (typeof name === 'string' && name !== '' && !(name === 'Error' && maker)) return name
  return typeof maker === 'string' && maker !== '' ? maker : 'Error'
}

/** The parts of an error event. Anything can be thrown. */
export function errorParts(error) {
  if (types.isNativeError(error) || attempt(() => error instanceof Error, false)) {
    const message = attempt(() => String(error.message), '')
    const trace = attempt(() => error.stack.includes('\n    at '), false) ? show(error) : plainTrace(error)
    return new Map([['name', nameOf(error)], ['value', message], ['traceback', trace]])
  }
  const text = show(error)
  return new Map([['name', 'Error'], ['value', text], ['traceback', `Uncaught ${text}`]])
}

/** The same as text. */
export function errorText(error) {
  const parts = errorParts(error)
  return parts.get('traceback')
}
