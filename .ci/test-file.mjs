/**
 * `npm run test:file -- FILE... [--watch]`: runs test files from their sources, without a build, in
 * one process each. `--watch` runs a file again whenever it, or what it imports, changes. Tests
 * that need what the build makes (the package, the command, children of compiled programs) say so.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const files = given.filter((each) => each !== '--watch')
if (files.length === 0) {
  console.error('usage: npm run test:file -- test/unit/FOLDER/FILE.test.ts... [--watch]')
  process.exit(2)
}
const watch = given.includes('--watch') ? ['--watch', '--watch-preserve-output'] : []
let failed = 0
for (const file of files) {
  const imports = ['source/register.mjs', 'prelude/no-reports.mjs'].flatMap((each) => {
    return ['--import', join(root, '.ci', each)]
  })
  const args = ['--enable-source-maps', ...imports, ...watch, file]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) failed++
}
process.exitCode = failed === 0 ? 0 : 1
