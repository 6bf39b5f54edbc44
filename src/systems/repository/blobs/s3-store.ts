/**
 * A blob store of objects in a bucket, for Amazon S3 and servers with its protocol. Needs the
 * package `@aws-sdk/client-s3`. A blob larger than one part is uploaded in parts: at most two of
 * them are in memory, and the object becomes visible as a whole or not at all.
 */
import type { Readable } from 'node:stream'
import type * as Sdk from '@aws-sdk/client-s3'
import {
  boolean,
  checked,
  checkObject,
  checkText,
  declareOptions,
  integer,
  required,
  requirePackage,
  shown,
  text,
  timerMillisecondsMax,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { invalidArgument, repositoryError } from '../errors.js'
import {
  blobDamaged,
  blobPieces,
  checkStoreKey,
  checkStoreRange,
  chunksOf,
  type BlobStore,
} from './blob-store.js'

const partBytesMin = 5 * 2 ** 20
const partsMax = 10_000

interface Credentials {
  /** Public part of the key. */
  readonly accessKeyId: string
  /** Secret part of the key. */
  readonly secretAccessKey: string
  /** Token of temporary credentials. */
  readonly sessionToken?: string | undefined
}

/** Copies credentials, without properties that the SDK added to the object in an earlier use. */
function readCredentials(given: Credentials): Credentials {
  const { accessKeyId, secretAccessKey, sessionToken } = checkObject(given, 'credentials')
  checkText(accessKeyId, 'accessKeyId')
  checkText(secretAccessKey, 'secretAccessKey')
  if (sessionToken === undefined) return { accessKeyId, secretAccessKey }
  return { accessKeyId, secretAccessKey, sessionToken: checkText(sessionToken, 'sessionToken') }
}

function checkEndpoint(endpoint: string, what: string): string {
  if (URL.canParse(checkText(endpoint, what))) return endpoint
  throw invalidArgument(`${what} must be an address, got ${shown(endpoint)}`)
}

function checkName(name: string, what: string): string {
  if (checkText(name, what) !== '') return name
  throw invalidArgument(`${what} must not be empty`)
}

const s3Options = declareOptions('an S3 store', {
  /** Name of a bucket that exists. */
  bucket: required(checked(checkName)),
  /** Prefix of the object names. Default: none. */
  prefix: text(''),
  /** Address of the server. Default: that of Amazon for the region. */
  endpoint: checked(checkEndpoint),
  /** Default: the region of the environment, as the SDK finds it. */
  region: checked(checkName),
  /** Default: those of the environment, as the SDK finds them. */
  credentials: checked(readCredentials),
  /** Whether addresses have the bucket in their path, as many servers require. Default false. */
  forcePathStyle: boolean(false),
  /** Bytes of a part of an upload; S3 requires at least 5 MiB. Default 8 MiB. */
  partBytes: integer({ min: partBytesMin, default: 8 * 2 ** 20 }),
  /** Attempts per request, the first included. Default 3. */
  attemptsMax: integer({ min: 1, default: 3 }),
  /**
   * Milliseconds to connect, and without a byte in a request or its answer, also because the reader
   * of a blob takes none; then the attempt fails. Default a minute.
   */
  idleMillisecondsMax: integer({ min: 1, max: timerMillisecondsMax, default: 60_000 }),
})

/** Address of the bucket, and access to it. */
export interface S3Options extends OptionsOf<typeof s3Options> {}

/** The store with the name S3. */
export class S3BlobStore implements BlobStore {
  readonly id = 'S3'
  readonly isInDatabase = false
  readonly #settings: Pick<SettingsOf<typeof s3Options>, 'bucket' | 'prefix' | 'partBytes'>
  readonly #s3: Sdk.S3

  /** `ERR_MISSING_PACKAGE` without `@aws-sdk/client-s3`, `ERR_INVALID_ARGUMENT`. */
  constructor(options: S3Options) {
    const {
      endpoint,
      region,
      credentials,
      forcePathStyle,
      attemptsMax,
      idleMillisecondsMax,
      ...settings
    } = s3Options.read(options)
    this.#settings = settings
    const { S3 } = requirePackage<typeof Sdk>('@aws-sdk/client-s3', 'the S3 store of blobs')
    this.#s3 = new S3({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
      ...(credentials === undefined ? {} : { credentials }),
      forcePathStyle,
      maxAttempts: attemptsMax,
      requestHandler: {
        connectionTimeout: idleMillisecondsMax,
        socketTimeout: idleMillisecondsMax,
      },
      // The repository itself stores and compares the checksum of a blob.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    })
  }

  /** Closes the connections. */
  close(): void {
    this.#s3.destroy()
  }

  /** As {@link BlobStore.put}. `ERR_BLOB_STORE`. */
  async put(key: Buffer, source: AsyncIterable<Buffer>): Promise<void> {
    const s3 = this.#s3
    const place = this.#place(key)
    const pieces = blobPieces(source)
    const { partBytes } = this.#settings
    const parts: Sdk.CompletedPart[] = []
    let upload: (typeof place & { readonly UploadId: string | undefined }) | undefined
    /** The upload of the last part: the next part is collected meanwhile. */
    let sending: Promise<unknown> | undefined
    try {
      let small: Buffer = Buffer.alloc(0)
      for await (const Body of chunksOf(pieces, partBytes)) {
        if (upload === undefined && Body.length < partBytes) {
          small = Body
          continue
        }
        upload ??= {
          ...place,
          UploadId: (await answerOf(s3.createMultipartUpload(place))).UploadId,
        }
        await sending
        if (parts.length === partsMax) {
          throw invalidArgument(`a blob has at most ${partsMax} parts; partBytes is too small`)
        }
        const part: Sdk.CompletedPart = { PartNumber: parts.length + 1 }
        parts.push(part)
        const { PartNumber } = part
        sending = answerOf(s3.uploadPart({ ...upload, PartNumber, Body })).then(({ ETag }) => {
          part.ETag = ETag
        })
        // The next await of this promise reports the error.
        sending.catch(() => undefined)
      }
      if (upload === undefined) await answerOf(s3.putObject({ ...place, Body: small }))
      else {
        await sending
        const MultipartUpload = { Parts: parts }
        await answerOf(s3.completeMultipartUpload({ ...upload, MultipartUpload }))
      }
    } catch (error) {
      // A server may keep a part that arrives after the end of its upload.
      await sending?.catch(() => undefined)
      // Ends the upload by its id, because not every server can list uploads.
      if (upload !== undefined) await s3.abortMultipartUpload(upload).catch(() => undefined)
      throw error
    }
  }

  /** As {@link BlobStore.read}. `ERR_BLOB_STORE`. */
  async *read(key: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    const place = this.#place(key)
    checkStoreRange(start, end)
    if (start === end) return
    const Range = `bytes=${start}-${end - 1}`
    const { Body: body, ContentRange: found } = await answerOf(
      this.#s3.getObject({ ...place, Range }),
    )
    let left = end - start
    const source = body as unknown as Readable
    const pieces = source[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>
    try {
      // A server without ranges sends the whole object.
      if (found?.startsWith(`bytes ${start}-`) !== true && (start > 0 || found !== undefined)) {
        throw blobDamaged(`the server has sent ${shown(found)} instead of a range`)
      }
      while (left > 0) {
        const { done, value } = await answerOf(pieces.next())
        if (done === true) throw blobDamaged('its bytes end early')
        // A server may send more bytes than requested.
        const count = Math.min(value.length, left)
        left -= count
        yield Buffer.from(value.buffer, value.byteOffset, count)
      }
    } finally {
      source.destroy()
    }
  }

  /** As {@link BlobStore.remove}. `ERR_BLOB_STORE`. */
  async remove(key: Buffer): Promise<void> {
    const place = this.#place(key)
    await answerOf(this.#s3.deleteObject(place))
    // Parts of an unfinished upload take space, but no object shows them.
    const list = { Bucket: place.Bucket, Prefix: place.Key }
    const listed = this.#s3.listMultipartUploads(list).catch((error: unknown) => {
      // Some servers with this protocol list no uploads; they remove unfinished ones themselves.
      return without('NotImplemented', error)
    })
    const { Uploads: uploads = [] } = await answerOf(listed)
    for (const { UploadId, Key } of uploads) {
      if (Key !== place.Key) continue
      const ended = this.#s3.abortMultipartUpload({ ...place, UploadId })
      // The upload itself, or another removal, may have ended it meanwhile.
      await answerOf(ended.catch((error: unknown) => without('NoSuchUpload', error)))
    }
  }

  #place(key: Buffer): { readonly Bucket: string; readonly Key: string } {
    const name = checkStoreKey(key).toString('hex')
    const path = `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`
    const { bucket, prefix } = this.#settings
    return { Bucket: bucket, Key: `${prefix}${path}` }
  }
}

/** An empty answer in place of the error with this name. */
function without(name: string, error: unknown): { readonly Uploads?: Sdk.MultipartUpload[] } {
  if ((error as Error).name === name) return {}
  throw error
}

/** The answer of the server; `ERR_BLOB_DAMAGED` or `ERR_BLOB_STORE` in place of its error. */
async function answerOf<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'NoSuchKey') throw blobDamaged('its object is not there')
    if (name === 'InvalidRange') throw blobDamaged('its bytes end early')
    throw repositoryError('blobStore', `the store S3 fails: ${name}: ${message}`, error)
  }
}
