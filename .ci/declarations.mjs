/**
 * Run by `npm pack` and `npm publish`, behind the build, whose declarations lead to those of tsc.
 *
 * Rolls the declarations that tsc has emitted up into one file for each entry of the package, beside
 * its module in `build/package`. Types that several entries name lie in `shared-*.d.ts`, so that a
 * class of one entry is the class of the others.
 *
 * A type may be the result of a function that is not exported (`ReturnType<typeof statistics>`). Its
 * parameters are left out, since they would bring the classes of the engine along.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

/**
 * Names of shared types are not exported by an entry that merely mentions them. Circles between
 * files are harmless, because declarations are not executed.
 */
const expected = new Set(['PLUGIN_WARNING', 'CIRCULAR_DEPENDENCY', 'CYCLIC_CROSS_CHUNK_REEXPORT'])

/** A declaration of a file: whether it is one of a value, its text, and its name. */
const declaration =
  /^(declare )?((?:(?:abstract )?(?:class|const|enum|function)|interface|type) ([\w$]+))/gm

const root = join(import.meta.dirname, '..')
const target = join(root, 'build', 'package')
const entries = JSON.parse(readFileSync(join(root, '.ci', 'entries.json'), 'utf8'))

const build = join(root, 'build')
// A folder of this run: tests and the pack of the install test may run it at the same time.
const work = mkdtempSync(join(build, 'declarations-'))
const narrowed = join(work, 'narrowed')
for (const folder of ['native-free', 'src', 'test/doubles', 'test/suites']) {
  for (const name of readdirSync(join(build, folder), { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue
    const text = readFileSync(join(build, folder, name), 'utf8')
    const path = join(narrowed, folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(
      path,
      text.replace(/^declare function (\w+)\([^()]*\)/gm, 'declare function $1()'),
    )
  }
}
/** A module to be copied; only the engine calls its functions. */
const copied = 'job-worker'
const input = Object.fromEntries(
  Object.entries(entries)
    .filter(([name]) => name !== copied)
    .map(([name, path]) => [name, join(narrowed, path.replace(/^build\/(.*)\.js$/, '$1.d.ts'))]),
)

const rolled = await rollup({
  input,
  external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  plugins: [dts({ tsconfig: join(root, 'tsconfig.json') })],
  onwarn(warning) {
    if (!expected.has(warning.code)) throw new Error(warning.message)
  },
})
const made = join(work, 'rolled')
await rolled.write({
  dir: made,
  entryFileNames: '[name].d.ts',
  chunkFileNames: 'shared-[hash].d.ts',
  minifyInternalExports: false,
})
writeFileSync(join(made, `${copied}.d.ts`), 'export {}\n')
await rolled.close()
// Each file is replaced in one step: programs may be compiled against the package meanwhile.
const names = readdirSync(made)
for (const name of names) {
  const path = join(made, name)
  // Tabs in place of four spaces, and none before lines of comments, take 2 kB less of the package.
  const text = readFileSync(path, 'utf8').replace(/^(?: {4})+( \*)?/gm, (start, comment) => {
    return comment ?? '\t'.repeat(start.length / 4)
  })
  writeFileSync(path, exportedInPlace(text))
  renameSync(path, join(target, name))
}
for (const name of readdirSync(target)) {
  if (name.endsWith('.d.ts') && !names.includes(name)) rmSync(join(target, name), { force: true })
}
rmSync(work, { recursive: true, force: true })

/** The declarations with the word `export`, in place of lists of names: 4 kB less of the package. */
function exportedInPlace(text) {
  const inPlace = new Set()
  const kindOf = new Map()
  for (const [, isValue, , name] of text.matchAll(declaration)) {
    if (kindOf.get(name) !== 'value') kindOf.set(name, isValue === undefined ? 'type' : 'value')
  }
  // What a list hands on as a type alone must not become a value, and an alias stays one.
  const rest = text.replace(/^export (type )?\{ ([^}]*) \};\n?/gm, (_, type, list) => {
    const left = list.split(', ').filter((name) => {
      const kind = kindOf.get(name)
      if (kind === undefined || (type !== undefined && kind === 'value')) return true
      inPlace.add(name)
      return false
    })
    return left.length > 0 ? `export ${type ?? ''}{ ${left.join(', ')} };\n` : ''
  })
  const result = rest.replace(declaration, (found, _, declared, name) => {
    return inPlace.has(name) ? `export ${declared}` : found
  })
  // Without any list a file of declarations would export all of them.
  return /^export (type )?\{[^}]*\};?$/m.test(result) ? result : `${result}export {};\n`
}
