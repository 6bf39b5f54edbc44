/**
 * Run by `npm pack` and `npm publish`, behind the build, whose declarations lead to those of tsc.
 *
 * Rolls the declarations that tsc has emitted up into one file for each entry of the package, beside
 * its module in `build/package`. Types that several entries name lie in `shared-*.d.ts`, so that a
 * class of one entry is the class of the others.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
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
const input = Object.fromEntries(
  Object.entries(entries).map(([name, path]) => [name, join(root, path.replace(/\.js$/, '.d.ts'))]),
)

const rolled = await rollup({
  input,
  external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  plugins: [dts({ tsconfig: join(root, 'tsconfig.json') })],
  onwarn(warning) {
    if (!expected.has(warning.code)) throw new Error(warning.message)
  },
})
for (const name of readdirSync(target)) {
  if (name.endsWith('.d.ts')) rmSync(join(target, name))
}
await rolled.write({
  dir: target,
  entryFileNames: '[name].d.ts',
  chunkFileNames: 'shared-[hash].d.ts',
  minifyInternalExports: false,
})
await rolled.close()
