/** Which errors are autograd's own: those on which the inspector has something to say. */

/** Parts of torch's messages that name the trouble, whatever the tensor, the op or the version. */
const SAID: readonly RegExp[] = [
  /modified by an in-?place operation/i,
  /does not require grad and does not have a grad_fn/i,
  /backward through the graph a second time/i,
  /saved (?:tensors|variables?) after they have already been freed/i,
  /grad can be implicitly created only for (?:scalar|real)/i,
  /leaf variable that requires grad .*in-?place/i,
  /is a view and (?:is|its base).* modified in-?place/i,
  /view was created in (?:no_grad|inference) mode/i,
  /output of a function that returns multiple views/i,
  /inference tensors? (?:cannot be saved|outside InferenceMode)/i,
  /(?:in-?place update to|requires_grad=True on|version_counter (?:for|of)) inference tensor/i,
  /differentiated tensors (?:does not require grad|appears to not have been used)/i,
  /can't call numpy\(\) on tensor that requires grad/i,
  /only change requires_grad flags of leaf/i,
  /only tensors of floating point .*(?:can require|require) gradients?/i,
  /can't optimize a non-leaf tensor/i,
  /graph leaves\) support the deepcopy protocol/i,
  /returned an (?:incorrect number of gradients|invalid gradient)/i,
  /returned nan values in its/i,
  /derivative for '.*' is not implemented/i,
  /mismatch in shape: grad_output/i,
  /expected to (?:have finished reduction|mark a variable ready only once)/i,
  /recomputed values for the following tensors have different metadata/i,
  /can't detach views in-?place/i,
];

const LONGEST = 5_000;

export function isAutogradError(message: string): boolean {
  // A message on several lines is one sentence.
  const said = message.slice(0, LONGEST).replace(/\s+/g, " ");
  return SAID.some((pattern) => pattern.test(said));
}
