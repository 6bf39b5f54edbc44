/**
 * A page that compares engines: one group of bars a workload, under an open load one a percentile,
 * in one file without scripts or references, to be opened in a browser.
 */
import type { Report, ResultRecord, Spread } from './record.js'
import { formatCount, formatMicroseconds, groupResults, isOpenLoad, percentiles } from './table.js'

const labelWidth = 140
const barWidthMax = 300
const barHeight = 16
const gap = 3
const figureWidth = labelWidth + barWidthMax + 80

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

/** What a bar shows. */
interface Bar {
  readonly engine: string
  readonly value: number
  readonly text: string
  /** Lowest and highest of the repetitions; undefined for one repetition, or if it is not known. */
  readonly spread: Spread | undefined
}

/** One engine's bar; the line through its end goes from the lowest to the highest repetition. */
function drawBar({ engine, value, text, spread }: Bar, position: number, longest: number): string {
  const top = position * (barHeight + gap)
  const width = (figure: number): number => Math.max(1, (figure / longest) * barWidthMax)
  const middle = top + barHeight / 2
  const end = labelWidth + width(value)
  const low = labelWidth + width(spread?.low ?? value)
  const high = labelWidth + width(spread?.high ?? value)
  const line =
    spread === undefined
      ? ''
      : `<line x1="${low.toFixed(1)}" x2="${high.toFixed(1)}" y1="${middle}" y2="${middle}"/>`
  return [
    `<text x="${labelWidth - 6}" y="${middle}" class="name">${escapeHtml(engine)}</text>`,
    `<rect x="${labelWidth}" y="${top}" width="${(end - labelWidth).toFixed(1)}"` +
      ` height="${barHeight}" fill="${colourOf(engine)}"/>`,
    line,
    `<text x="${(Math.max(end, high) + 6).toFixed(1)}" y="${middle}">${text}</text>`,
  ].join('')
}

function figure(caption: string, details: string, bars: readonly Bar[]): string {
  const longest = Math.max(...bars.map(({ value, spread }) => Math.max(spread?.high ?? 0, value)))
  const height = bars.length * (barHeight + gap)
  const drawn = bars.map((bar, position) => drawBar(bar, position, longest)).join('\n')
  return `<figure><figcaption>${escapeHtml(caption)} <small>${details}</small></figcaption>
<svg width="${figureWidth}" height="${height}" viewBox="0 0 ${figureWidth} ${height}" role="img">
${drawn}
</svg></figure>`
}

/** Rates of a workload; under an open load one figure for each percentile of the latency. */
function figuresOf(group: readonly ResultRecord[]): string {
  const [first] = group
  const { workload, durability, operations, records } = first
  const counts = `${formatCount(operations)} operations, ${formatCount(records)} records`
  const details = `${durability}, ${counts}`
  if (!isOpenLoad(first)) {
    const bars = group.map(({ engine, opsPerSecond, repeats, spread }) => ({
      engine,
      value: opsPerSecond,
      text: `${formatCount(opsPerSecond)}/s`,
      spread: repeats > 1 ? spread : undefined,
    }))
    return figure(workload, details, bars)
  }
  const shown = percentiles.map(([name, of]) => {
    const bars = group.map((result) => {
      const value = of(result)
      return { engine: result.engine, value, text: formatMicroseconds(value), spread: undefined }
    })
    bars.sort((one, other) => one.value - other.value)
    return figure(`${workload}, ${name}`, details, bars)
  })
  return shown.join('\n')
}

const style = `
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 60em }
body { padding: 0 8px; color: #222 }
figure { margin: 0 0 1.4em } figcaption { font-weight: 600; margin-bottom: .3em }
small { font-weight: 400; color: #666 } svg { max-width: 100%; height: auto }
text { font-size: 12px; dominant-baseline: central } text.name { text-anchor: end }
line { stroke: #222; stroke-width: 1.5 }
`

const rateLegend =
  'Operations per second, longer is better; medians, the line spans all repetitions.'
const latencyLegend =
  'Latency from the intended start of a call, at a fixed rate; shorter is better, medians.'

/** The page of one report. */
export function formatPage(report: Report): string {
  const { machine, node, commit, date, options, leftOut, results } = report
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
<p>${results.some(isOpenLoad) ? latencyLegend : rateLegend}<br>
<small>${escapeHtml(where)}</small></p>
${groupResults(results).map(figuresOf).join('\n')}
${absent.length === 0 ? '' : `<p>Left out:</p><ul>${absent.join('')}</ul>`}
</html>
`
}
