/**
 * `npm test`: runs tap. On a terminal that is all. Elsewhere it prints one line for each process of
 * tests, and at the end each failure with its place; everything that tap said is in `build/test.tap`.
 *
 * Usage: node .ci/test.mjs [ARGUMENT OF TAP...]
 */
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { failuresOf } from './failures.mjs'
import { countTap } from './summary.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tap = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
const report = join('build', 'test.tap')
const given = process.argv.slice(2)

if (process.stdout.isTTY) {
  const child = spawn(process.execPath, [tap, ...given], { cwd: root, stdio: 'inherit' })
  child.on('close', (code) => (process.exitCode = code ?? 1))
} else {
  mkdirSync(join(root, 'build'), { recursive: true })
  const file = createWriteStream(join(root, report))
  const child = spawn(process.execPath, [tap, '--reporter=tap', ...given], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    file.write(`${line}\n`)
    const ended = /^(ok|not ok) \d+ - (?:build\/suites\/)?(\S+?)(?:\.test\.js)? # time=(\d+)/.exec(
      line,
    )
    if (ended === null) continue
    const [, outcome, name, milliseconds] = ended
    console.log(`${outcome.padEnd(6)} ${name} ${Math.round(milliseconds / 1000)} s`)
  }
  const code = child.exitCode ?? (await new Promise((resolve) => child.on('close', resolve)))
  await new Promise((resolve) => file.end(resolve))
  const text = readFileSync(join(root, report), 'utf8')
  const { passed, failed, skipped } = countTap(text)
  for (const { name, details } of failuresOf(text)) {
    console.log(`\nFAILED ${name}`)
    if (details !== '') console.log(details)
  }
  console.log(`\nAll that tap said is in ${report}`)
  console.log(`${skipped} skipped`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = code === 0 && failed > 0 ? 1 : (code ?? 1)
}
