/**
 * A blob store of objects in a bucket, for Amazon S3 and servers with its protocol. Needs the
 * package `@aws-sdk/client-s3`. A blob larger than one part is uploaded in parts: at most two of
 * them are in memory, and the object becomes visible as a whole or not at all.
 */
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
  type OptionsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { checkBuffer } from '../pieces.js'
import {
  blobDamaged,
  checkStoreKey,
  checkStoreRange,
  type BlobStore,
  type BlobWriter,
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

function checkRegion(region: string, what: string): string {
  if (checkText(region, what) !== '') return region
  throw invalidArgument(`${what} must not be empty`)
}

function checkBucket(bucket: string): string {
  if (typeof bucket === 'string' && bucket !== '') return bucket
  throw invalidArgument(`a bucket has a name, got ${shown(bucket)}`)
}

const s3Options = declareOptions('an S3 store', {
  /** Name of a bucket that exists. */
  bucket: required(checked(checkBucket)),
  /** Prefix of the object names. Default: none. */
  prefix: text(''),
  /** Address of the server. Default: that of Amazon for the region. */
  endpoint: checked(checkEndpoint),
  /** Default: the region of the environment, as the SDK finds it. */
  region: checked(checkRegion),
  /** Default: those of the environment, as the SDK finds them. */
  credentials: checked(readCredentials),
  /** Whether addresses have the bucket in their path, as many servers require. Default false. */
  forcePathStyle: boolean(false),
  /** Bytes of a part of an upload; S3 requires at least 5 MiB. Default 8 MiB. */
  partBytes: integer({ min: partBytesMin, default: 8 * 2 ** 20 }),
  /** Attempts per request, the first included. Default 3. */
  attemptsMax: integer({ min: 1, default: 3 }),
})

/** Address of the bucket, and access to it. */
export interface S3Options extends OptionsOf<typeof s3Options> {}

/** The store with the name S3. */
export class S3BlobStore implements BlobStore {
  readonly id = 'S3'
  readonly isInDatabase = false
  readonly #sdk: typeof Sdk
  readonly #client: Sdk.S3Client
  readonly #bucket: string
  readonly #prefix: string
  readonly #partBytes: number

  /** `ERR_MISSING_PACKAGE` without `@aws-sdk/client-s3`, `ERR_INVALID_ARGUMENT`. */
  constructor(options: S3Options) {
    const settings = s3Options.read(options)
    const { endpoint, region, credentials, forcePathStyle, attemptsMax } = settings
    this.#sdk = requirePackage<typeof Sdk>('@aws-sdk/client-s3', 'the S3 store of blobs')
    this.#client = new this.#sdk.S3Client({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
      ...(credentials === undefined
        ? {}
        : { credentials: credentials as Sdk.S3ClientConfig['credentials'] }),
      forcePathStyle,
      maxAttempts: attemptsMax,
      // The repository itself stores and compares the checksum of a blob.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    })
    this.#bucket = settings.bucket
    this.#prefix = settings.prefix
    this.#partBytes = settings.partBytes
  }

  /** Closes the connections. */
  close(): void {
    this.#client.destroy()
  }

  /** As {@link BlobStore.create}. */
  async create(key: Buffer): Promise<BlobWriter> {
    return new S3Writer(this.#sdk, this.#client, this.#place(key), this.#partBytes)
  }

  async *read(key: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    const place = this.#place(key)
    checkStoreRange(start, end)
    if (start === end) return
    const { GetObjectCommand, NoSuchKey } = this.#sdk
    const range = { Range: `bytes=${start}-${end - 1}` }
    let left = end - start
    try {
      const command = new GetObjectCommand({ ...place, ...range })
      const { Body: body, ContentRange: found } = await this.#client.send(command)
      if (found?.startsWith(`bytes ${start}-`) !== true && start > 0) {
        throw blobDamaged(`the server has sent ${shown(found)} instead of a range`)
      }
      for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
        // A server may send more bytes than requested.
        const count = Math.min(piece.length, left)
        left -= count
        yield Buffer.from(piece.buffer, piece.byteOffset, count)
        if (left === 0) return
      }
    } catch (error) {
      if (error instanceof NoSuchKey) throw blobDamaged('its object is not there')
      if ((error as Error).name === 'InvalidRange') throw blobDamaged('its bytes end early')
      throw error
    }
    if (left > 0) throw blobDamaged('its bytes end early')
  }

  async remove(key: Buffer): Promise<void> {
    const { DeleteObjectCommand, ListMultipartUploadsCommand, AbortMultipartUploadCommand } =
      this.#sdk
    const place = this.#place(key)
    await this.#client.send(new DeleteObjectCommand(place))
    // Parts of an unfinished upload take space, but no object shows them.
    const list = { Bucket: place.Bucket, Prefix: place.Key }
    const { Uploads: uploads = [] } = await this.#client
      .send(new ListMultipartUploadsCommand(list))
      .catch(withoutUploads)
    for (const { UploadId, Key } of uploads) {
      if (Key !== place.Key) continue
      await this.#client.send(new AbortMultipartUploadCommand({ ...place, UploadId }))
    }
  }

  #place(key: Buffer): { readonly Bucket: string; readonly Key: string } {
    const name = checkStoreKey(key).toString('hex')
    const path = `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`
    return { Bucket: this.#bucket, Key: `${this.#prefix}${path}` }
  }
}

/** Some servers with this protocol cannot list uploads; they remove unfinished ones themselves. */
function withoutUploads(error: unknown): { readonly Uploads?: Sdk.MultipartUpload[] } {
  if ((error as Error).name === 'NotImplemented') return {}
  throw error
}

/** Writes one object: in one request if it is smaller than a part, else part by part. */
class S3Writer implements BlobWriter {
  readonly #sdk: typeof Sdk
  readonly #client: Sdk.S3Client
  readonly #place: { readonly Bucket: string; readonly Key: string }
  readonly #partBytes: number
  readonly #parts: Sdk.CompletedPart[] = []
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #uploadId: string | undefined
  /** The upload of the last complete part. */
  #sending: Promise<void> | undefined

  constructor(
    sdk: typeof Sdk,
    client: Sdk.S3Client,
    place: { readonly Bucket: string; readonly Key: string },
    partBytes: number,
  ) {
    this.#sdk = sdk
    this.#client = client
    this.#place = place
    this.#partBytes = partBytes
  }

  async write(given: Buffer): Promise<void> {
    const piece = checkBuffer(given, 'a piece of a blob')
    for (let at = 0; at < piece.length;) {
      const taken = Math.min(piece.length - at, this.#partBytes - this.#waitingBytes)
      // Copied, because the caller may reuse the piece after the call.
      this.#waiting.push(Buffer.from(piece.subarray(at, at + taken)))
      this.#waitingBytes += taken
      at += taken
      if (this.#waitingBytes === this.#partBytes) await this.#sendPart()
    }
  }

  async finish(): Promise<void> {
    const { PutObjectCommand, CompleteMultipartUploadCommand } = this.#sdk
    if (this.#uploadId === undefined) {
      const Body = Buffer.concat(this.#waiting)
      await this.#client.send(new PutObjectCommand({ ...this.#place, Body }))
      return
    }
    if (this.#waitingBytes > 0) await this.#sendPart()
    await this.#sending
    await this.#client.send(
      new CompleteMultipartUploadCommand({
        ...this.#place,
        UploadId: this.#uploadId,
        MultipartUpload: { Parts: this.#parts },
      }),
    )
  }

  /** Ends an upload in parts by its id, because not every server can list uploads. */
  async abort(): Promise<void> {
    // A server may keep a part that arrives behind the end of its upload.
    await this.#sending?.catch(() => undefined)
    if (this.#uploadId === undefined) return
    const { AbortMultipartUploadCommand } = this.#sdk
    const UploadId = this.#uploadId
    await this.#client.send(new AbortMultipartUploadCommand({ ...this.#place, UploadId }))
  }

  /** Sends the waiting bytes; resolves when the part before has arrived. */
  async #sendPart(): Promise<void> {
    const { CreateMultipartUploadCommand, UploadPartCommand } = this.#sdk
    const Body = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    if (this.#uploadId === undefined) {
      const made = await this.#client.send(new CreateMultipartUploadCommand(this.#place))
      this.#uploadId = made.UploadId!
    }
    await this.#sending
    const PartNumber = this.#parts.length + 1
    if (PartNumber > partsMax) {
      throw invalidArgument(`a blob has at most ${partsMax} parts; partBytes is too small for it`)
    }
    const part: Sdk.CompletedPart = { PartNumber }
    this.#parts.push(part)
    const UploadId = this.#uploadId
    this.#sending = this.#client
      .send(new UploadPartCommand({ ...this.#place, UploadId, PartNumber, Body }))
      .then(({ ETag }) => void (part.ETag = ETag))
    // The next await of this promise reports the error.
    this.#sending.catch(() => undefined)
  }
}
