// What each kind of function is called with, and how it passes: the tables of the protocol, for this implementation.
import { at, isAgent, show, showMembers } from './values.mjs'

/**
 * @typedef {object} Reading  What one call was given.
 * @property {object} fields  The fields of the kind, live: `set` assigns to them.
 * @property {object} [agent]  The agent that the call is about, or an id.
 * @property {AbortSignal} [signal]  The cancellation signal that the call was handed.
 * @property {Function} [next]  The rest of a waterfall.
 * @property {object} [run]  What the body of a tool is offered besides its arguments.
 */

const payload = (fields, next) => ({ fields, agent: fields.agent, signal: fields.signal, next })
const bare = () => ({ fields: {} })
const ofSession = (session) => ({ fields: { session }, session })
const ofRequest = (request, next) => ({
  fields: { request, signal: request.signal },
  agent: request.sessionId,
  signal: request.signal,
  next,
})
const ofModel = (request) => ({
  ...ofRequest(request),
  fields: { provider: request.provider, model: request.model, request, signal: request.signal },
})

const EXECUTION = ['callId', 'name', 'arguments', 'rootCallId', 'token', 'parent', 'signal']

/** Members of an object as fields: assigning to one assigns to the object, which may refuse. */
function membersOf(object, names) {
  const member = (name) => ({ enumerable: true, get: () => object[name], set: (value) => { object[name] = value } })
  return Object.defineProperties({}, Object.fromEntries(names.map((name) => [name, member(name)])))
}

function ofExecution(execution, ...rest) {
  const fields = membersOf(execution, EXECUTION)
  const next = typeof rest.at(-1) === 'function' ? rest.pop() : undefined
  if (rest.length > 0) fields.result = rest[0]
  const agent = isAgent(execution.agent) ? execution.agent : undefined // a call may be made for any scope
  return { fields, agent, signal: execution.signal, next }
}

const ofApproval = ({ agent, ...asked }) => ({ fields: asked, agent, signal: asked.signal })
const ofValue = (args, value) => ({ fields: { arguments: args, value } })
const ofResult = (args, result) => ({ fields: { arguments: args, result } })

const emit = (reading) => ({ reading, waits: true, emitted: true })
const awaited = (reading) => ({ reading, waits: true })

/** The events of the contract. */
export const EVENTS = {
  'agent/created': emit(payload),
  'agent/disposed': emit(payload),
  'agent/session-start': emit(payload),
  'agent/status': emit(payload),
  'agent/inbox/inserted': emit(payload),
  'agent/inbox/discarded': emit(payload),
  'agent/inbox/claimed': emit(payload),
  'agent/error': { ...emit(payload), errors: ['error'] },
  'session/created': emit(ofSession),
  'session/disposed': emit(ofSession),
  'session/event': emit((session, event) => ({ fields: { session, event }, session })),
  'tools/change': emit(bare),
  'system-prompt/change': emit(bare),
  'llm/adapters-updated': emit(bare),
  'tools/result': emit(ofExecution),
  'agent-loop/config-start-failed': { ...emit((fields) => ({ fields })), errors: ['error'] },
  'agent/pre-step': awaited(payload),
  'agent/request': awaited(payload),
  'agent/request-error': awaited(payload),
  'agent/turn-stopping': awaited(payload),
  'tools/pre-execute': awaited(ofExecution),
  'tools/execute': awaited(ofExecution),
  'tools/post-execute': awaited(ofExecution),
  'system-prompt/assemble': awaited((assembly, { scope, agent, signal }, next) => ({
    fields: { assembly, scope, signal },
    agent,
    signal,
    next,
  })),
  'llm/stream': { reading: ofRequest, waits: false },
  'session/flush': awaited(ofSession),
}

const isNoFunction = (arg) => typeof arg !== 'function'

/** Behind this the framework keeps the service itself, where it hands over the view of one context. */
const ORIGINAL = Symbol.for('cordis.original')

/** The kind of a listener: one of the table, or one that shows whatever it is called with. */
export const eventKind = (name) => ({
  name,
  ...(EVENTS[name] ?? awaited((...args) => ({
    fields: { args: args.filter(isNoFunction) },
    next: args.findLast((arg) => typeof arg === 'function'),
  }))),
})

const signalOnly = (agent) => (signal) => ({ fields: { signal }, signal, agent })

/** What a provider of prompts answers that says nothing: no text, no tools, no value. */
const UNSAID = { section: '', context: '', tools: { schemas: [] } }

/** Functions that are no listeners. */
export const KINDS = {
  start: { name: 'model/start', reading: ofModel, waits: false },
  stream: { name: 'model/stream', reading: ofModel, waits: true, streams: true },
  resolve: {
    name: 'model/resolve',
    reading: (provider, model, signal) => ({ fields: { provider, model, signal }, signal }),
    waits: true,
    pass: ({ provider, model }) => ({ provider, id: model, name: model }),
  },
  models: { name: 'model/models', reading: (provider) => ({ fields: { provider } }), waits: true, pass: () => [] },
  close: { name: 'model/close', reading: (provider) => ({ fields: { provider } }), waits: true },
  /** Of the definition of a tool, by the member that holds the function. */
  tool: {
    execute: {
      name: 'tool/execute',
      reading: (args, run) => ({ ...ofExecution(run), run }),
      waits: true,
      pass: () => null,
    },
    isConcurrencySafe: { name: 'tool/safe', reading: ofValue, waits: false },
    finalizeContent: { name: 'tool/finalize', reading: ofExecution, waits: false },
    presentCall: { name: 'tool/present-call', reading: ofValue, waits: false },
    presentResult: { name: 'tool/present-result', reading: ofResult, waits: false },
  },
  /** Of the member `output` of such a definition. */
  output: {
    render: { name: 'tool/render', reading: ofValue, waits: false, pass: () => [] },
    presentationMeta: { name: 'tool/meta', reading: ofValue, waits: false, pass: () => null },
  },
  /** A provider of the registry of prompts; `name` is that of what it is registered for. */
  prompt: (kind, name) => ({
    name: `prompt/${kind}`,
    reading: ({ scope, agent, signal }) => ({ fields: { name, scope, signal }, agent, signal }),
    waits: false,
    pass: () => UNSAID[kind],
  }),
  guard: { name: 'tool/guard', reading: ofExecution, waits: false },
  approval: { name: 'tool/approval', reading: ofApproval, waits: true, pass: () => 'unavailable' },
  run: { name: 'run', reading: bare, waits: true },
  undo: (of) => ({ name: 'undo', reading: () => ({ fields: { of } }), waits: true }),
  /** What may own something: `owns` is what the undos in it are told that they undo. */
  body: (world) => ({
    name: 'body',
    reading: ({ fiber }, config) => ({ fields: { owner: world.places.owner(fiber), config } }),
    waits: true,
    owns: ({ owner }) => owner,
  }),
  effect: (of, waits = false) => ({ name: 'effect', reading: () => ({ fields: { of } }), waits, owns: () => of }),
  filter: {
    name: 'filter',
    reading: (context, receiver) => ({ fields: { context, receiver } }),
    waits: false,
    pass: () => false,
  },
  observer: {
    name: 'observer',
    reading: (mode, name, args, receiver) => ({
      fields: { mode, name, receiver: receiver?.[ORIGINAL] ?? receiver ?? undefined, args: args.filter(isNoFunction) },
    }),
    waits: false,
  },
  default: {
    name: 'default',
    reading: (...args) => ({ fields: { args: args.filter(isNoFunction) } }),
    waits: true,
    pass: () => undefined,
  },
  maintenance: (agent) => ({ name: 'maintenance', reading: signalOnly(agent), waits: true }),
  /** `stub` finds the handle of a stub by its name. An owner is shown by the name of its fiber, or as an agent. */
  factory: (world, op, stub) => ({
    name: 'factory',
    reading: (owner, options) => ({
      fields: { owner: owner.agent ?? world.places.owner(owner.fiber) ?? owner, op, options },
    }),
    waits: true,
    answer: (value) => (value?.stub === undefined ? value : stub(value.stub)),
  }),
  boundary: { name: 'boundary', reading: bare, waits: true },
  store: {
    load: {
      name: 'store/load',
      reading: (session, signal) => ({ fields: { session, signal }, signal }),
      waits: true,
      pass: () => null,
    },
    list: { name: 'store/list', reading: bare, waits: true, pass: () => [] },
    release: { name: 'store/release', reading: (session) => ({ fields: { session } }), waits: false },
  },
  setup: { name: 'setup', reading: (context) => ({ fields: {}, agent: context.agent }), waits: true },
  commit: (agent) => ({ name: 'commit', reading: () => ({ fields: {}, agent }), waits: true }),
}

/** The fields of a call as the rows show them. */
export function showFields(kind, { fields }, world) {
  const { request, ...rest } = fields
  const shown = showMembers(rest, world, [], 'agent')
  if (request !== undefined) shown.request = showMembers(request, world, [], 'signal')
  for (const name of kind.errors ?? []) shown[name] = world.thrown(fields[name])
  return shown
}

/** Whether a call meets the conditions of `when`: each compares what is shown at a path. */
export const meets = (when, kind, reading, world) =>
  Object.entries(when).every(([path, wanted]) => equal(shownAt(path, kind, reading, world), wanted))

function shownAt(path, kind, reading, world) {
  if (path === 'agent') return reading.agent && show(reading.agent, world)
  return at(showFields(kind, reading, world), path)
}

/** Whether two values are the same JSON. */
export function equal(left, right) {
  if (left === right) return true
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const keys = Object.keys(left)
  return keys.length === Object.keys(right).length && keys.every((key) => key in right && equal(left[key], right[key]))
}
