// Binary values that say themselves what they are.
import { Buffer } from 'node:buffer'

const KINDS = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46, -1, -1, -1, -1, 0x57, 0x45, 0x42, 0x50]],
  ['application/pdf', [0x25, 0x50, 0x44, 0x46, 0x2d]],
]

/** Its bytes, when it is a buffer of any kind. */
export function bytesOf(value) {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return value instanceof ArrayBuffer ? Buffer.from(value) : null
}

/** The MIME type that the first bytes tell, or undefined. */
export function mediaType(bytes) {
  return KINDS.find(([, magic]) => magic.every((byte, i) => byte === -1 || byte === bytes[i]))?.[0]
}
