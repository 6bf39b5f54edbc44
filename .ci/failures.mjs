/** Names the failures of a TAP document, each by the tests around it, with what was said of it. */

/** Lines of details of one failure. */
const detailsMax = 25

/** The failed points that no failed point below them explains. */
export function failuresOf(text) {
  const failures = []
  // By depth: the name of the open subtest, and whether a point in it has failed.
  const names = []
  const failed = []
  let details
  for (const line of text.split(/\r?\n/)) {
    const indent = line.length - line.trimStart().length
    if (details !== undefined) {
      if (indent === details.indent && line.trim() === '...') details = undefined
      else if (details.lines.length < detailsMax) details.lines.push(line)
      continue
    }
    const last = failures.at(-1)
    if (line.trim() === '---') {
      const lines = last?.end === line.length - 3 && last.lines.length === 0 ? last.lines : []
      details = { indent, lines }
      continue
    }
    if (last !== undefined) last.end = -1
    const subtest = /^( *)# Subtest: (.*)$/.exec(line)
    if (subtest !== null) names[indent / 4] = subtest[2]
    const point = /^ *(not )?ok\b(?: \d+)?(?: - )?(.*)$/.exec(line)
    if (point === null || indent % 4 !== 0) continue
    const depth = indent / 4
    const hasFailedChild = failed[depth + 1] === true
    failed[depth + 1] = false
    if (point[1] === undefined || /(^|[^\\])# *(skip|todo)\b/i.test(point[2])) continue
    failed[depth] = true
    if (hasFailedChild) continue
    const own = point[2].replace(/ # time=.*$/, '').trim()
    const name = [...names.slice(0, depth), own].join(' > ')
    failures.push({ name, lines: [], end: indent + 2 })
  }
  return failures.map(({ name, lines }) => ({ name, details: lines.join('\n') }))
}
