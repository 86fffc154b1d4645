// Frames of the driver protocol: "NAME ARGUMENT SIZE\n" and SIZE bytes. Written synchronously: whoever prints faster
// than the server reads waits in write(2), and nothing is held here.
import { Buffer } from 'node:buffer'
import fs from 'node:fs'
import process from 'node:process'
import { critical } from './guard.mjs'
import { forEachOf, method, slice, split, unitAt } from './private.mjs'

const EVENTS = 4
const PIECE = 64 << 10 // characters of a long text that are converted at a time
const WAIT_MS = 2

const { writeSync } = fs
const { from, byteLength, concat } = Buffer
const leave = process.reallyExit.bind(process)
const { wait } = Atomics
const { min } = Math
const indexOf = method(Buffer.prototype.indexOf)
const latin1Slice = method(Buffer.prototype.latin1Slice)
const utf8Slice = method(Buffer.prototype.utf8Slice)
const subarray = method(Buffer.prototype.subarray)
const nobody = new Int32Array(new SharedArrayBuffer(4))

function writeAll(bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(EVENTS, bytes, at, bytes.length - at)
    } catch (error) {
      if (error.code !== 'EAGAIN') leave(1) // nobody listens, or user code has closed it
      wait(nobody, 0, 0, WAIT_MS)
    }
  }
}

/** Where a text can be cut: not inside of a surrogate pair. */
function cut(text, at) {
  const unit = unitAt(text, at - 1)
  return unit >= 0xd800 && unit < 0xdc00 ? at - 1 : at
}

function writeText(header, text) {
  const head = `${header} ${byteLength(text)}\n`
  if (text.length <= PIECE) return writeAll(from(head + text))
  writeAll(from(head))
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE >= text.length ? text.length : cut(text, at + PIECE)
    writeAll(from(slice(text, at, end)))
    at = end
  }
}

/** One frame; content is text. */
export function send(name, argument = '-', content = '') {
  critical(() => writeText(`${name} ${argument}`, content))
}

/** A frame that others belong to, its parts (a Map of type and text) and its end, or nothing of it. */
export function sendWithParts(name, argument, parts) {
  critical(() => {
    send(name, argument)
    forEachOf(parts, (content, type) => send('part', type, content))
    send('close')
  })
}

/** Requests as they come in pieces: onFrame(name, argument, text). */
export class FrameReader {
  #header = ''
  #pieces = []
  #left = 0
  #frame = null
  #onFrame

  constructor(onFrame) {
    this.#onFrame = onFrame
  }

  feed(bytes) {
    for (let at = 0; at < bytes.length; ) at = this.#frame ? this.#content(bytes, at) : this.#head(bytes, at)
  }

  #head(bytes, at) {
    const end = indexOf(bytes, 10, at)
    this.#header += latin1Slice(bytes, at, end < 0 ? bytes.length : end)
    if (end < 0) return bytes.length
    const words = split(this.#header, ' ')
    this.#header = ''
    this.#left = +words[2]
    this.#frame = { name: words[0], argument: words[1] }
    if (this.#left === 0) this.#complete()
    return end + 1
  }

  #content(bytes, at) {
    const end = min(bytes.length, at + this.#left)
    this.#pieces[this.#pieces.length] = from(subarray(bytes, at, end))
    this.#left -= end - at
    if (this.#left === 0) this.#complete()
    return end
  }

  // Everything is as for the next frame before onFrame() runs: user code in it may be ended at any point.
  #complete() {
    const { name, argument } = this.#frame
    const text = utf8Slice(concat(this.#pieces))
    this.#frame = null
    this.#pieces = []
    this.#onFrame(name, argument, text)
  }
}
