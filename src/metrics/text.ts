/** Metrics in the text format of Prometheus. */

/** Values of labels by their names. */
export type Labels = Readonly<Record<string, string>>

/** A value of a metric; `suffix` follows the name of a histogram. */
export type Sample = readonly [labels: Labels, value: number | boolean, suffix?: string]

/** One metric with its samples. */
export interface Family {
  /** In snake case, with the unit. */
  readonly name: string
  /** A counter only grows, until its source is opened again. */
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help?: string | undefined
  readonly samples: readonly Sample[]
}

/** A metric of samples, or of one value without labels. */
export function family(
  kind: Family['kind'],
  name: string,
  value: number | boolean | readonly Sample[],
  help?: string,
): Family {
  return { name, kind, help, samples: typeof value === 'object' ? value : [[{}, value]] }
}

/** A histogram: the number of values up to each bound, their sum and their count. */
export interface Histogram {
  readonly buckets: readonly number[]
  readonly sum: number
  readonly count: number
}

/** The samples of a histogram. */
export function histogramSamples(
  { buckets, sum, count }: Histogram,
  bounds: readonly number[],
  labels: Labels,
): Sample[] {
  return [
    ...bounds.map((bound, at): Sample => {
      return [{ ...labels, le: String(bound) }, buckets[at], '_bucket']
    }),
    [{ ...labels, le: '+Inf' }, count, '_bucket'],
    [labels, sum, '_sum'],
    [labels, count, '_count'],
  ]
}

/** The text of metrics, whose names begin with `prefix`. */
export function familiesText(prefix: string, families: Iterable<Family>): string {
  const lines: string[] = []
  for (const { name, kind, help, samples } of families) {
    const full = prefix + name
    if (help !== undefined) lines.push(`# HELP ${full} ${help}`)
    lines.push(`# TYPE ${full} ${kind}`)
    for (const [labels, value, suffix = ''] of samples) {
      lines.push(`${full}${suffix}${labelsText(labels)} ${Number(value)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

function labelsText(labels: Labels): string {
  const texts = Object.entries(labels).map(([label, each]) => {
    return `${label}="${each.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`))}"`
  })
  return texts.length === 0 ? '' : `{${texts.join(',')}}`
}
