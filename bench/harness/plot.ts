/**
 * A page that compares engines: one group of bars a workload, in one file without scripts or
 * references, to be opened in a browser.
 */
import type { Report, ResultRecord } from './record.js'
import { formatCount, groupResults } from './table.js'

const labelWidth = 170
const barWidthMax = 520
const barHeight = 16
const gap = 3
const figureWidth = labelWidth + barWidthMax + 110

/** Colours by name, so that an engine has the same one on every page. */
const knownColours: Readonly<Record<string, string>> = {
  cellar: '#d1495b',
  'classic-level': '#00798c',
  'classic-level/row': '#00798c',
  'classic-level/cells': '#6fb1bc',
  lmdb: '#edae49',
  'lmdb/row': '#edae49',
  'lmdb/cells': '#f4d08f',
  'better-sqlite3': '#30638e',
  'rocksdb-native': '#5b8c5a',
  'rocksdb-native/row': '#5b8c5a',
  'rocksdb-native/cells': '#a3c3a2',
  'rocksdb-cpp': '#5c5470',
}

const otherColour = '#8d99ae'

/** The colour of an engine. */
export function colourOf(engine: string): string {
  return knownColours[engine] ?? otherColour
}

/** Text as HTML shows it. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (character) => entities[character])
}

/** One engine's bar; the line through its end goes from the lowest to the highest repetition. */
function bar(result: ResultRecord, position: number, fastest: number): string {
  const top = position * (barHeight + gap)
  const width = (rate: number): number => Math.max(1, (rate / fastest) * barWidthMax)
  const middle = top + barHeight / 2
  const end = width(result.opsPerSecond)
  const low = labelWidth + width(result.spread.low)
  const high = labelWidth + width(result.spread.high)
  const colour = colourOf(result.engine)
  const text = `${formatCount(result.opsPerSecond)}/s`
  const parts = [
    `<text x="${labelWidth - 6}" y="${middle}" class="name">${escapeHtml(result.engine)}</text>`,
    `<rect x="${labelWidth}" y="${top}" width="${end.toFixed(1)}" height="${barHeight}"` +
      ` fill="${colour}"/>`,
    `<text x="${(Math.max(labelWidth + end, high) + 6).toFixed(1)}" y="${middle}">${text}</text>`,
  ]
  if (result.repeats > 1) {
    parts.splice(
      2,
      0,
      `<line x1="${low.toFixed(1)}" x2="${high.toFixed(1)}" y1="${middle}" y2="${middle}"/>`,
    )
  }
  return parts.join('')
}

function figure(group: readonly ResultRecord[]): string {
  const [{ workload, durability, operations, records }] = group
  const fastest = Math.max(
    ...group.map(({ spread, opsPerSecond }) => {
      return Math.max(spread.high, opsPerSecond)
    }),
  )
  const height = group.length * (barHeight + gap)
  const bars = group.map((result, position) => bar(result, position, fastest)).join('\n')
  const caption =
    `${escapeHtml(workload)} <small>${durability}, ${formatCount(operations)} operations, ` +
    `${formatCount(records)} records</small>`
  return `<figure><figcaption>${caption}</figcaption>
<svg width="${figureWidth}" height="${height}" viewBox="0 0 ${figureWidth} ${height}" role="img">
${bars}
</svg></figure>`
}

const style = `
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 60em }
body { padding: 0 8px; color: #222 }
figure { margin: 0 0 1.4em } figcaption { font-weight: 600; margin-bottom: .3em }
small { font-weight: 400; color: #666 } svg { max-width: 100%; height: auto }
text { font-size: 12px; dominant-baseline: central } text.name { text-anchor: end }
line { stroke: #222; stroke-width: 1.5 }
`

/** The page of one report. */
export function formatPage(report: Report): string {
  const { machine, node, commit, date, options, leftOut } = report
  const suite = escapeHtml(String(options['suite']))
  const where =
    `${machine.cpu}, ${machine.cores} cores, ${machine.platform}, Node ${node}, ` +
    `commit ${commit ?? 'unknown'}, ${date}`
  const absent = leftOut.map(({ engine, reason }) => `<li>${escapeHtml(`${engine}: ${reason}`)}`)
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Cellar: ${suite}</title>
<style>${style}</style>
<h1>${suite}</h1>
<p>Operations per second, longer is better; medians, the line spans all repetitions.<br>
<small>${escapeHtml(where)}</small></p>
${groupResults(report.results).map(figure).join('\n')}
${absent.length === 0 ? '' : `<p>Left out:</p><ul>${absent.join('')}</ul>`}
</html>
`
}
