// How values are shown: a Map of MIME type and text. Objects may say it themselves, in the ways that the JavaScript
// kernels of notebooks have made usual:
//
//     [Symbol.for('Jupyter.display')]()        an object of MIME types and contents (Deno)
//     _toMime()                                the same (IJavascript)
//     _toHtml() _toSvg() _toPng() _toJpeg()    one of them (IJavascript)
//     toHTML(), outerHTML, toDataURL()         data frames, elements, canvases
import { Buffer } from 'node:buffer'
import { inspect } from 'node:util'
import { bytesOf, mediaType } from './media.mjs'
import { jsonText, plainJson, JSON_MAX } from './json.mjs'

const DISPLAY = Symbol.for('Jupyter.display')
const IS_JSON = /^application\/json$|^e2b\/(data|chart)$|\+json$/
const MIME_TYPE = /^[\x21-\x7e]{1,150}$/
const { parse } = JSON

const METHODS = [
  ['_toHtml', 'text/html'],
  ['toHTML', 'text/html'],
  ['_toSvg', 'image/svg+xml'],
  ['_toPng', 'image/png'],
  ['_toJpeg', 'image/jpeg'],
]

/** The text of one part, or undefined if it cannot be sent. */
function partText(type, content) {
  if (content === undefined || content === null) return undefined
  const bytes = bytesOf(content)
  if (bytes) return /^(text\/|image\/svg)/.test(type) ? bytes.toString() : bytes.toString('base64')
  if (!IS_JSON.test(type)) return Array.isArray(content) ? content.join('') : String(content)
  if (typeof content !== 'string') return jsonText(content)
  try {
    parse(content)
    return Buffer.byteLength(content) <= JSON_MAX ? content : undefined
  } catch {
    return jsonText(content)
  }
}

/** Parts of an object of MIME types and contents. */
export function bundleParts(bundle) {
  const parts = new Map()
  for (const [type, content] of Object.entries(bundle ?? {})) {
    const text = MIME_TYPE.test(type) ? partText(type, content) : undefined
    if (text !== undefined) parts.set(type, text)
  }
  return parts
}

export const isBundle = (value) =>
  plainJson({}) !== undefined && value !== null && typeof value === 'object' && Object.keys(value).length > 0 &&
  Object.keys(value).every((key) => /^[a-z]+\/[\w.+-]+$/.test(key))

export function plainText(value) {
  return typeof value === 'string' ? value : inspect(value, { __proto__: null, colors: false })
}

function element(value) {
  const { outerHTML, tagName } = value
  if (typeof outerHTML !== 'string') return null
  return { [String(tagName).toLowerCase() === 'svg' ? 'image/svg+xml' : 'text/html']: outerHTML }
}

function canvas(value) {
  const [, type, content] = /^data:(image\/\w+);base64,(.*)$/s.exec(value.toDataURL('image/png')) ?? []
  return type ? { [type]: content } : null
}

/** What an object says of itself: a bundle, a promise of one, or null. */
function ownBundle(value) {
  if (typeof value[DISPLAY] === 'function') return value[DISPLAY]()
  if (typeof value._toMime === 'function') return value._toMime()
  const bundle = {}
  for (const [method, type] of METHODS)
    if (typeof value[method] === 'function' && value[method].length === 0) bundle[type] ??= value[method]()
  if (Object.keys(bundle).length) return bundle
  return element(value) ?? (typeof value.toDataURL === 'function' ? canvas(value) : null)
}

/** Parts of any value; a promise when the object itself answers with one. */
export function valueParts(value) {
  const parts = new Map()
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  const bytes = isObject && bytesOf(value)
  const type = bytes && mediaType(bytes)
  if (type) parts.set(type, bytes.toString('base64'))
  const said = isObject && !bytes ? sayings(value) : null
  if (typeof said?.then === 'function') return said.then((bundle) => complete(value, bundleParts(bundle)))
  return complete(value, said ? bundleParts(said) : parts)
}

// A proxy or a getter may throw at anything; then the object has said nothing.
function sayings(value) {
  let asked = false
  try {
    asked = [DISPLAY, '_toMime', ...METHODS.map(([name]) => name), 'outerHTML', 'toDataURL'].some((name) => value[name])
  } catch {
    return null
  }
  return asked ? ownBundle(value) : null
}

function complete(value, parts) {
  if (!parts.has('text/plain')) parts.set('text/plain', plainText(value))
  const json = parts.size === 1 ? plainJson(value) : undefined
  if (json !== undefined) parts.set('application/json', json)
  return parts
}

/** The global display(): show(parts or a promise of them) sends it. */
export function makeDisplay(show) {
  const display = (value, { raw = isBundle(value) } = {}) => show(raw ? bundleParts(value) : valueParts(value))
  const shorthands = {
    html: 'text/html', markdown: 'text/markdown', md: 'text/markdown', svg: 'image/svg+xml', png: 'image/png',
    jpeg: 'image/jpeg', pdf: 'application/pdf', latex: 'text/latex', javascript: 'application/javascript',
    json: 'application/json', text: 'text/plain',
  }
  for (const [name, type] of Object.entries(shorthands))
    display[name] = (content) => show(bundleParts({ [type]: content }))
  return display
}
