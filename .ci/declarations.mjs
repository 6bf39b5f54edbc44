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
  writeFileSync(path, text)
  renameSync(path, join(target, name))
}
for (const name of readdirSync(target)) {
  if (name.endsWith('.d.ts') && !names.includes(name)) rmSync(join(target, name), { force: true })
}
rmSync(work, { recursive: true, force: true })
