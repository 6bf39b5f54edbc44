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
import { formatCount, percentiles } from './table.js'

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
figure { margin: 0 0 1em; max-width: 640px } svg { width: 100%; height: auto; display: block }
small { color: #666 }
`

/** The page, from the reports of `scale` and `latency` and the names of the pages of all suites. */
export function formatOverview(
  scale: Report | undefined,
  latency: Report | undefined,
  pages: readonly string[],
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
${section('Growth: higher is better', scale, growth)}
${section('Latency at a fixed rate: lower is better', latency, latencies)}
</html>
`
}
