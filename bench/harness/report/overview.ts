/**
 * The recorded results at a glance: one page of pictures without scripts or references, to be
 * opened in a browser. Lines over records show how engines grow with their stores; lines over the
 * median, p99 and p99.9 show latencies at a fixed rate. Both axes of values are logarithmic.
 *
 * echarts draws the pictures, as SVG. Each is as wide as its column, 320 to 640 pixels.
 */
import * as echarts from 'echarts'
import { colourOf, escapeHtml } from './plot.js'
import type { Report, ResultRecord } from './record.js'
import { formatCount, groupResults, isNodePeer, isOwn, percentiles, worthOf } from './table.js'

const width = 480
const height = 320

interface Series {
  readonly name: string
  readonly points: readonly (readonly [x: number | string, y: number])[]
}

interface Picture {
  readonly title: string
  readonly unit: string
  /** Names along the lower axis; absent: numbers, logarithmic. */
  readonly categories?: readonly string[]
  readonly series: readonly Series[]
}

function draw({ title, unit, categories, series }: Picture): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height })
  const count = (value: number): string => formatCount(value)
  chart.setOption({
    animation: false,
    title: { text: title, subtext: unit, textStyle: { fontSize: 14 }, left: 0 },
    legend: { bottom: 0, itemWidth: 12, itemGap: 12, textStyle: { fontSize: 10 } },
    grid: { left: 8, right: 24, top: 76, bottom: 36, containLabel: true },
    xAxis:
      categories === undefined
        ? { type: 'log', name: '', axisLabel: { formatter: count }, min: 'dataMin', max: 'dataMax' }
        : { type: 'category', data: [...categories] },
    yAxis: { type: 'log', axisLabel: { formatter: count } },
    series: series.map(({ name, points }) => ({
      type: 'line' as const,
      name,
      data: points.map((point) => [...point]),
      symbol: 'circle',
      symbolSize: 6,
      color: colourOf(name),
      lineStyle: { width: name === 'cellar' ? 3 : 1.5 },
    })),
  })
  const svg = chart.renderToSVGString({ useViewBox: true })
  chart.dispose()
  const named = svg.replace('<svg ', `<svg role="img" aria-label="${escapeHtml(title)}" `)
  return `<figure>${named}</figure>`
}

/** Groups in the order of their first member. */
function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const key = keyOf(value)
    groups.set(key, [...(groups.get(key) ?? []), value])
  }
  return groups
}

/** Rates over the number of records, for workloads that ran on stores of several sizes. */
function growthPictures(results: readonly ResultRecord[]): Picture[] {
  return [...groupBy(results, ({ workload }) => workload)].flatMap(([workload, group]) => {
    if (new Set(group.map(({ records }) => records)).size < 2) return []
    const series = [...groupBy(group, ({ engine }) => engine)].map(([name, own]) => ({
      name,
      points: own
        .map(({ records, opsPerSecond }) => [records, opsPerSecond] as const)
        .sort(([a], [b]) => a - b),
    }))
    return [{ title: workload, unit: 'operations per second, over records', series }]
  })
}

/** Latencies by percentile, for workloads of a fixed rate. */
function latencyPictures(results: readonly ResultRecord[]): Picture[] {
  return [...groupBy(results, ({ workload }) => workload)].flatMap(([workload, group]) => {
    const series = group.flatMap((result) => {
      const points = percentiles.map(([name, of]) => [name, of(result)] as const)
      return points.some(([, value]) => Number.isNaN(value))
        ? []
        : [{ name: result.engine, points }]
    })
    if (series.length === 0) return []
    const [{ durability }] = group
    const unit = `microseconds, ${durability}, by percentile`
    const categories = percentiles.map(([name]) => name)
    return [{ title: workload, unit, categories, series }]
  })
}

const style = `
body { font: 14px/1.4 system-ui, sans-serif; margin: 1em auto; padding: 0 8px; max-width: 88em }
section { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr)) }
figure { margin: 0 0 1em; max-width: 640px } .wide { max-width: 100% }
svg { width: 100%; height: auto; display: block }
small { color: #666 }
`

const barHeight = 18

/** A workload of a suite, and how many times as good as the best other Node package Cellar is. */
interface Comparison {
  readonly name: string
  readonly ratio: number
}

function comparisonsOf({ results }: Report): Comparison[] {
  return groupResults(results).flatMap((group) => {
    const own = group.find(({ engine }) => isOwn(engine))
    const peers = group.filter(({ engine }) => isNodePeer(engine))
    if (own === undefined || peers.length === 0) return []
    const ratio = worthOf(own) / Math.max(...peers.map(worthOf))
    const { suite, workload, durability, records } = own
    const name = `${suite}: ${workload}, ${durability}, ${formatCount(records)}`
    return Number.isFinite(ratio) && ratio > 0 ? [{ name, ratio }] : []
  })
}

/** Wins and losses of all suites in one picture, a bar for each workload. */
function drawComparisons(comparisons: readonly Comparison[]): string {
  const sorted = [...comparisons].sort((one, other) => one.ratio - other.ratio)
  const size = { width: 2 * width, height: 80 + barHeight * sorted.length }
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, ...size })
  const title = 'Cellar beside the best other Node package'
  chart.setOption({
    animation: false,
    title: {
      text: title,
      subtext: 'times as good, logarithmic; right of 1 Cellar is better, left of 1 the other is',
      textStyle: { fontSize: 14 },
      left: 0,
    },
    grid: { left: 8, right: 56, top: 56, bottom: 8, containLabel: true },
    xAxis: { type: 'log', logBase: 2, axisLabel: { formatter: (value: number) => `${value} x` } },
    yAxis: {
      type: 'category',
      data: sorted.map(({ name }) => name),
      axisLabel: { interval: 0, fontSize: 10 },
    },
    series: [
      {
        type: 'bar',
        data: sorted.map(({ ratio }) => ({
          value: ratio,
          itemStyle: { color: ratio >= 1 ? '#2a7' : '#c55' },
          label: { show: true, position: ratio >= 1 ? 'right' : 'left', fontSize: 10 },
        })),
        label: { formatter: ({ value }: { value: number }) => `${value.toFixed(2)} x` },
      },
    ],
  } as echarts.EChartsCoreOption)
  const svg = chart.renderToSVGString({ useViewBox: true })
  chart.dispose()
  const named = svg.replace('<svg ', `<svg role="img" aria-label="${escapeHtml(title)}" `)
  return `<figure class="wide">${named}</figure>`
}

function comparisonSection(reports: readonly Report[]): string {
  const comparisons = reports.flatMap(comparisonsOf)
  if (comparisons.length === 0) return ''
  const wins = comparisons.filter(({ ratio }) => ratio >= 1).length
  const runs = new Set(reports.map(({ node, commit }) => `Node ${node}, commit ${commit ?? '?'}`))
  return `<h2>Wins and losses</h2>
<p>Cellar is the best of the Node packages in ${wins} of ${comparisons.length} workloads.
<small>${escapeHtml([...runs].join('; '))}</small></p>
${drawComparisons(comparisons)}`
}

/**
 * The page, from the reports of `scale` and `latency`, the names of the pages of all suites, and
 * the reports whose wins and losses are shown.
 */
export function formatOverview(
  scale: Report | undefined,
  latency: Report | undefined,
  pages: readonly string[],
  compared: readonly Report[] = [],
): string {
  const section = (title: string, report: Report | undefined, pictures: readonly Picture[]) => {
    if (report === undefined || pictures.length === 0) return ''
    const { machine, node, commit, date } = report
    const where =
      `${machine.cpu}, ${machine.cores} cores, Node ${node}, commit ${commit ?? 'unknown'}, ` +
      date.slice(0, 10)
    return `<h2>${title}</h2>
<p><small>${escapeHtml(where)}</small></p>
<section>
${pictures.map(draw).join('\n')}
</section>`
  }
  const growth = growthPictures(scale?.results ?? [])
  const latencies = latencyPictures(latency?.results ?? [])
  const links = pages.map((page) => `<a href="${page}.html">${escapeHtml(page)}</a>`).join(', ')
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Cellar: benchmarks at a glance</title>
<style>${style}</style>
<h1>Benchmarks at a glance</h1>
<p>All suites: ${links}.</p>
${comparisonSection(compared)}
${section('Growth: higher is better', scale, growth)}
${section('Latency at a fixed rate: lower is better', latency, latencies)}
</html>
`
}
