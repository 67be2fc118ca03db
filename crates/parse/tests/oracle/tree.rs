//! The smallest tree html5ever can build: parents, children and attributes.

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, ExpandedName, QualName};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

#[derive(Default)]
pub struct Node {
    /// The order of creation, which is that of the tags.
    pub number: usize,
    pub name: Option<QualName>,
    pub attributes: RefCell<Vec<Attribute>>,
    parent: RefCell<Weak<Node>>,
    children: RefCell<Vec<Rc<Node>>>,
    contents: Option<Rc<Node>>,
    integration: bool,
}

#[derive(Default)]
pub struct Tree {
    document: Rc<Node>,
    created: Cell<usize>,
}

impl Tree {
    /// All elements of the document; what templates hold is not in it.
    pub fn elements(&self) -> Vec<Rc<Node>> {
        let mut found = Vec::new();
        let mut waiting = vec![self.document.clone()];
        while let Some(node) = waiting.pop() {
            waiting.extend(node.children.borrow().iter().cloned());
            if node.name.is_some() {
                found.push(node);
            }
        }
        found
    }

    fn create(&self, node: Node) -> Rc<Node> {
        self.created.set(self.created.get() + 1);
        Rc::new(Node {
            number: self.created.get(),
            ..node
        })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // one level at a time: a deep tree would overflow the stack
        let mut waiting = vec![std::mem::take(&mut self.document)];
        while let Some(node) = waiting.pop() {
            waiting.append(&mut node.children.borrow_mut());
            waiting.extend(node.contents.clone());
        }
    }
}

fn detach(node: &Rc<Node>) {
    if let Some(parent) = node.parent.take().upgrade() {
        parent
            .children
            .borrow_mut()
            .retain(|child| !Rc::ptr_eq(child, node));
    }
}

impl TreeSink for Tree {
    type Handle = Rc<Node>;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Rc<Node> {
        self.document.clone()
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        target.name.as_ref().expect("an element").expanded()
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Rc<Node> {
        self.create(Node {
            name: Some(name),
            attributes: RefCell::new(attributes),
            contents: flags.template.then(|| self.create(Node::default())),
            integration: flags.mathml_annotation_xml_integration_point,
            ..Node::default()
        })
    }

    fn create_comment(&self, _: StrTendril) -> Rc<Node> {
        self.create(Node::default())
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Rc<Node> {
        self.create(Node::default())
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        if let NodeOrText::AppendNode(child) = child {
            detach(&child);
            *child.parent.borrow_mut() = Rc::downgrade(parent);
            parent.children.borrow_mut().push(child);
        }
    }

    fn append_based_on_parent_node(
        &self,
        element: &Rc<Node>,
        previous: &Rc<Node>,
        child: NodeOrText<Rc<Node>>,
    ) {
        if element.parent.borrow().upgrade().is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        target.contents.clone().expect("a template")
    }

    fn same_node(&self, one: &Rc<Node>, other: &Rc<Node>) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        // the order of children does not matter to us
        let parent = sibling
            .parent
            .borrow()
            .upgrade()
            .expect("a sibling has a parent");
        self.append(&parent, child);
    }

    fn add_attrs_if_missing(&self, target: &Rc<Node>, attributes: Vec<Attribute>) {
        let mut present = target.attributes.borrow_mut();
        for attribute in attributes {
            if !present.iter().any(|other| other.name == attribute.name) {
                present.push(attribute);
            }
        }
    }

    fn remove_from_parent(&self, target: &Rc<Node>) {
        detach(target);
    }

    fn reparent_children(&self, node: &Rc<Node>, parent: &Rc<Node>) {
        let children = node.children.take();
        for child in children {
            *child.parent.borrow_mut() = Rc::downgrade(parent);
            parent.children.borrow_mut().push(child);
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Rc<Node>) -> bool {
        handle.integration
    }
}
