import { prometheusMeter } from '../../packages/server/src/adapters/meter/prometheus-meter.ts'

/** Every series that the service exports from its start, with the values of its labels. */
export interface Exported {
  readonly names: ReadonlySet<string>
  /** The values by metric and label. A label whose values are known only at run time is missing. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>
}

/** Reads the metrics as Prometheus does. */
export async function exportedMetrics(): Promise<Exported> {
  using meter = prometheusMeter({ version: '0.0.0' })
  const text = await meter.read()
  const names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  const values = new Map<string, Set<string>>()
  for (const [, series = '', labels = ''] of text.matchAll(/^([a-z_]+)\{([^}]*)\}/gm))
    for (const [, label = '', value = ''] of labels.matchAll(/([a-z]+)="([^"]*)"/g)) {
      const key = `${metricOf(series, names)} ${label}`
      values.set(key, (values.get(key) ?? new Set()).add(value))
    }
  return { names, values }
}

/** The metric of a series: a histogram has three series. */
export function metricOf(series: string, names: ReadonlySet<string>): string {
  const histogram = series.replace(/_(?:bucket|sum|count)$/, '')
  return names.has(series) ? series : histogram
}

/** The defects of a PromQL expression: metrics and label values that are never exported. */
export function unknownIn(expression: string, { names, values }: Exported): readonly string[] {
  const selectors = [...expression.matchAll(/\b(bonded_[a-z_]+)(?:\{([^}]*)\})?/g)]
  return selectors.flatMap(([, series = '', labels = '']) => {
    const metric = metricOf(series, names)
    if (!names.has(metric)) return [series]
    return [...labels.matchAll(/([a-z]+)(=~|!~|=|!=)"([^"]*)"/g)].flatMap(
      ([, label = '', operator = '', value = '']) => {
        // Prometheus adds these to every target.
        if (label === 'instance' || label === 'job') return []
        const known = values.get(`${metric} ${label}`)
        const wanted = operator.endsWith('~') ? value.split('|') : [value]
        return wanted.filter((one) => !known?.has(one)).map((one) => `${series}{${label}="${one}"}`)
      },
    )
  })
}
