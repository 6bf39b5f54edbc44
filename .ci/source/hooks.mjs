/** Module hooks: an import of `x.js` that does not exist loads `x.ts`, compiled by esbuild. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'

const built = /\.js$/

/** The TypeScript file beside a compiled one that is not there. */
function sourceOf(specifier, parent) {
  const isPath = specifier.startsWith('.') || specifier.startsWith('file:')
  if (!isPath || !built.test(specifier)) return undefined
  const compiled = new URL(specifier, parent)
  const source = new URL(compiled.href.replace(built, '.ts'))
  return !existsSync(compiled) && existsSync(source) ? source.href : undefined
}

export async function resolve(specifier, context, next) {
  const url = sourceOf(specifier, context.parentURL)
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
}

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
  const path = fileURLToPath(url)
  const { code } = await transform(await readFile(path, 'utf8'), {
    loader: 'ts',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: path,
  })
  return { format: 'module', source: code, shortCircuit: true }
}
