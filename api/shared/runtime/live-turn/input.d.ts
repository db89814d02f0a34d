import { Attachable } from "../../model/tool.js";
import { Attachment, TextPart } from "../../model/message.js";
/** What a user says: text, or a list of texts and attachments. */
type Input = string | readonly (string | TextPart | Attachable | Attachment)[];
export { Input };
