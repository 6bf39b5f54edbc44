/** The errors of Hedwig's metadata, with the status codes of the protocol. */

/** Hedwig's status codes that metadata and topic ownership use. */
export const StatusCode = {
  /** The topic, or its record, does not exist. */
  NO_SUCH_TOPIC: 402,
  /** This hub does not own the topic (any more). Nothing was changed. */
  NOT_RESPONSIBLE_FOR_TOPIC: 501,
  /** The store or the hub is currently unavailable. */
  SERVICE_DOWN: 502,
  /** The record has a version other than the given one. Nothing was changed. */
  BAD_VERSION: 520,
  /** The topic has no ledgers. */
  NO_TOPIC_PERSISTENCE_INFO: 521,
  /** The topic has ledgers already. */
  TOPIC_PERSISTENCE_INFO_EXISTS: 522,
  /** There is no such subscription. */
  NO_SUBSCRIPTION_STATE: 523,
  /** The subscription exists already. */
  SUBSCRIPTION_STATE_EXISTS: 524,
  /** The topic has no owner. */
  NO_TOPIC_OWNER_INFO: 525,
  /** The topic has an owner already. */
  TOPIC_OWNER_INFO_EXISTS: 526,
  /** An argument is not valid, a stored record cannot be read, or the like; see `cause`. */
  UNEXPECTED_CONDITION: 600,
  /** Several failures; see `failures`. */
  COMPOSITE: 700,
} as const

/** Name of a status. */
export type StatusName = keyof typeof StatusCode

const brand = Symbol.for('cellardb.HedwigError')

/** The error class of Hedwig's managers (`PubSubException`). */
export class HedwigError extends Error {
  /** Always `'HedwigError'`. */
  override readonly name = 'HedwigError'
  /** Name of the status in Hedwig's protocol; see {@link StatusCode}. */
  readonly status: StatusName
  /** The single failures, if the status is `COMPOSITE`. */
  readonly failures: readonly unknown[]
  /** Marks the class across copies of the package. */
  readonly [brand] = true

  /** For managers of the caller. `failures` belongs to the status `COMPOSITE`. */
  constructor(
    status: StatusName,
    message: string,
    options: { readonly cause?: unknown; readonly failures?: readonly unknown[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.failures = options.failures ?? []
  }

  /** The protocol's number of {@link status}. */
  get statusCode(): number {
    return StatusCode[this.status]
  }

  /** Also true for the class of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** Makes an `UNEXPECTED_CONDITION`. */
export function unexpectedCondition(message: string, cause?: unknown): HedwigError {
  return new HedwigError('UNEXPECTED_CONDITION', message, { cause })
}

/** The status of a failure, if it has one. */
export function statusOf(error: unknown): StatusName | undefined {
  return error instanceof HedwigError ? error.status : undefined
}
