/**
 * Sums up TAP of several test runs: `node .ci/summary.mjs FILE...`, or TAP on standard input.
 *
 * Counts assertions: test points that are not the closing line of a subtest. A subtest without
 * assertions counts as one, as does a test file that failed although all its assertions passed (a
 * crash, a timeout, a wrong plan). Skipped and todo points count neither way. A file without points,
 * or whose TAP has no plan at the end, counts as one failure more, as does a run of skipped ones only.
 *
 * Prints each failed point, then `N passed, N failed` as the last line; exits 1 if anything failed.
 */
import { readFileSync } from 'node:fs'

const pointPattern = /^( *)(not )?ok\b(?: (\d+))?(.*)$/

/** Counts one TAP document. */
export function countTap(text) {
  const total = { passed: 0, failed: 0, skipped: 0, failures: [] }
  // Open levels of indentation: what the points counted there amount to.
  const levels = [newLevel()]
  let diagnosticIndent = -1
  let planned = false
  for (const line of text.split(/\r?\n/)) {
    const indent = line.length - line.trimStart().length
    if (diagnosticIndent >= 0) {
      // Inside YAML, where lines may look like test points.
      if (indent === diagnosticIndent && line.trim() === '...') diagnosticIndent = -1
      continue
    }
    if (line.trim() === '---') {
      diagnosticIndent = indent
      continue
    }
    if (/^1\.\.\d+/.test(line)) planned = true
    if (/^\s*Bail out!/.test(line)) {
      total.failed++
      total.failures.push(line.trim())
    }
    const point = pointPattern.exec(line)
    if (point === null || indent % 4 !== 0) continue
    const depth = indent / 4
    const children = levels[depth + 1] ?? newLevel()
    levels.length = Math.min(levels.length, depth + 1)
    while (levels.length <= depth) levels.push(newLevel())
    addPoint(total, levels[depth], children, point)
  }
  if (!planned) fail(total, 'the test run ended without a plan')
  else if (total.passed + total.failed + total.skipped === 0)
    fail(total, 'the test run has no tests')
  return total
}

function newLevel() {
  return { points: 0, failed: 0 }
}

function fail(total, description) {
  total.failed++
  total.failures.push(description)
}

function addPoint(total, level, children, point) {
  const description = point[4].replace(/ # time=.*$/, '').trim()
  level.points++
  const isSkipped = /(^|[^\\])# *(skip|todo)\b/i.test(point[4])
  const isFailed = point[2] !== undefined && !isSkipped
  if (isFailed) level.failed++
  if (children.points > 0) {
    // A parent repeats what its children said, unless it alone failed.
    if (isFailed && children.failed === 0) fail(total, description)
  } else if (isSkipped) total.skipped++
  else if (isFailed) fail(total, description)
  else total.passed++
}

function main(paths) {
  const sum = { passed: 0, failed: 0 }
  for (const path of paths.length === 0 ? ['-'] : paths) {
    let text
    try {
      text = readFileSync(path === '-' ? 0 : path, 'utf8')
    } catch {
      text = ''
    }
    const { passed, failed, skipped, failures } = countTap(text)
    sum.passed += passed
    sum.failed += failed
    for (const failure of failures.slice(0, 50)) console.log(`${path}: not ok ${failure}`)
    console.log(`${path}: ${passed} passed, ${failed} failed, ${skipped} skipped`)
  }
  if (sum.passed + sum.failed === 0) sum.failed++
  console.log(`${sum.passed} passed, ${sum.failed} failed`)
  process.exitCode = sum.failed === 0 ? 0 : 1
}

if (process.argv[1]?.endsWith('summary.mjs')) main(process.argv.slice(2))
