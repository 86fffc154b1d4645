// Changes of a text that remember where each piece came from.

const LINE_END = /\r\n|[\n\r\u2028\u2029]/g

/** Offsets at which lines begin. */
function lineStarts(text) {
  const starts = [0]
  for (const end of text.matchAll(LINE_END)) starts.push(end.index + end[0].length)
  return starts
}

/** The last index whose entry is not above the value. */
function findLast(entries, value, of = (entry) => entry) {
  let low = 0
  let high = entries.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (of(entries[middle]) <= value) low = middle
    else high = middle - 1
  }
  return low
}

export class Edits {
  #source
  #list = [] // { at, to, text, rank }

  constructor(source) {
    this.#source = source
  }

  /** In front of what begins at this offset; of several the first is outside. */
  open(at, text) {
    this.#list.push({ at, to: at, text, rank: 1, order: this.#list.length })
  }

  /** Behind what ends at this offset; of several the first is outside. */
  close(at, text) {
    this.#list.push({ at, to: at, text, rank: 0, order: -this.#list.length })
  }

  replace(at, to, text) {
    this.#list.push({ at, to, text, rank: 1, order: this.#list.length })
  }

  /** The parts: texts, and { from, to } of the source, edited. */
  apply(parts) {
    this.#list.sort((a, b) => a.at - b.at || a.rank - b.rank || a.order - b.order)
    const out = new Output(this.#source)
    for (const part of parts) {
      if (typeof part === 'string') out.text(part)
      else this.#range(out, part)
    }
    return out
  }

  // Closing texts at its begin belong to what is before it, opening ones at its end to what is behind.
  #range(out, { from, to }) {
    let at = from
    for (const edit of this.#list) {
      if (edit.at < at || edit.at > to) continue
      if (edit.at === (edit.rank ? to : from)) continue
      out.copy(at, edit.at)
      out.text(edit.text)
      at = edit.to
    }
    out.copy(at, to)
  }
}

/** The changed text, and the way back from its positions. */
class Output {
  code = ''
  #source
  #pieces = [] // { at, from }: copied from there

  constructor(source) {
    this.#source = source
  }

  text(text) {
    this.code += text
  }

  copy(from, to) {
    if (from >= to) return
    this.#pieces.push({ at: this.code.length, from, size: to - from })
    this.code += this.#source.slice(from, to)
  }

  /** The position in the source, from one in the code; both count from 1. */
  original(line, column) {
    if (!this.#pieces.length) return { line, column }
    this.codeLines ??= lineStarts(this.code)
    this.sourceLines ??= lineStarts(this.#source)
    const offset = (this.codeLines[line - 1] ?? 0) + column - 1
    const piece = this.#pieces[findLast(this.#pieces, offset, ({ at }) => at)]
    const back = piece.from + Math.min(Math.max(offset - piece.at, 0), piece.size)
    const index = findLast(this.sourceLines, back)
    return { line: index + 1, column: back - this.sourceLines[index] + 1 }
  }
}
