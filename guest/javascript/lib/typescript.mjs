// TypeScript, by esbuild: types are removed, not checked. It is started at the first program that needs it, and
// started again should an interrupt or user code have ended it.
import process from 'node:process'
import fs from 'node:fs'
import { SourceMap } from 'node:module'

const FILE = 'program.ts'

let esbuild

async function load() {
  if (esbuild) return
  try {
    esbuild = (await import('esbuild')).default
  } catch {
    throw new Error('TypeScript needs esbuild, which this Hotcell was built without: install npm, then build it again')
  }
}

/** Of the project's settings only this changes what a program does. */
function decorators() {
  try {
    return /"experimentalDecorators"\s*:\s*true/.test(fs.readFileSync('tsconfig.json', 'utf8'))
  } catch {
    return false
  }
}

const options = (loader) => ({
  __proto__: null,
  loader,
  target: `node${process.versions.node}`,
  sourcefile: FILE,
  sourcemap: 'external',
  sourcesContent: false,
  treeShaking: false,
  charset: 'utf8',
  logLevel: 'silent',
  // What is imported may be used by a later execution.
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, experimentalDecorators: decorators() } },
})

async function transform(source, loader) {
  try {
    return await esbuild.transform(source, options(loader))
  } catch (error) {
    if (error?.errors?.length) throw error
    await esbuild.stop()
    return esbuild.transform(source, options(loader))
  }
}

/**
 * { code, original(line, column) }, positions counted from 1. A syntax error is { message, line, column }
 * in `place` of what is thrown.
 */
export async function transpile(source) {
  await load()
  let first
  for (const loader of ['ts', 'tsx']) {
    try {
      const { code, map } = await transform(source, loader)
      return { code, original: follow(new SourceMap(JSON.parse(map))) }
    } catch (error) {
      first ??= error
    }
  }
  const { text, location } = first.errors?.[0] ?? {}
  if (!location) throw first
  throw Object.assign(new SyntaxError(text), { place: { line: location.line, column: location.column + 1 } })
}

function follow(map) {
  return (line, column) => {
    const { originalLine, originalColumn } = map.findEntry(line - 1, column - 1)
    return originalLine === undefined ? { line, column } : { line: originalLine + 1, column: originalColumn + 1 }
  }
}
